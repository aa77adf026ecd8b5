#include "submix/server/metrics.h"

#include <algorithm>
#include <initializer_list>
#include <locale>
#include <sstream>

namespace submix::server {
namespace {

struct LabelledValue {
  const char* label;
  std::int64_t value;
};

class Exposition {
 public:
  Exposition() { text_.imbue(std::locale::classic()); }

  void Family(const char* name, const char* type, const char* help) {
    text_ << "# HELP " << name << ' ' << help << "\n# TYPE " << name << ' ' << type << '\n';
  }
  template <typename Value>
  void Sample(const std::string& name, Value value) {
    text_ << name << ' ' << value << '\n';
  }
  void Counter(const char* name, const char* help, std::int64_t value) {
    Family(name, "counter", help);
    Sample(name, value);
  }
  void Counters(const char* name, const char* help, const std::string& label,
                std::initializer_list<LabelledValue> values) {
    Family(name, "counter", help);
    for (const LabelledValue& each : values) {
      Sample(std::string(name) + "{" + label + "=\"" + each.label + "\"}", each.value);
    }
  }
  void Gauge(const char* name, const char* help, std::int64_t value) {
    Family(name, "gauge", help);
    Sample(name, value);
  }
  // Prometheus counts a bucket's value in every larger one too.
  void Histogram(const char* name, const char* help, const engine::DurationHistogram& durations) {
    Family(name, "histogram", help);
    const std::string bucket = std::string(name) + "_bucket{le=\"";
    std::int64_t so_far = 0;
    for (std::size_t i = 0; i < engine::DurationHistogram::kBounds.size(); ++i) {
      so_far += durations.count(i);
      text_ << bucket << engine::DurationHistogram::kBounds[i] << "\"} " << so_far << '\n';
    }
    so_far += durations.count(engine::DurationHistogram::kBounds.size());
    text_ << bucket << "+Inf\"} " << so_far << '\n';
    Sample(std::string(name) + "_sum", durations.sum_seconds());
    Sample(std::string(name) + "_count", so_far);
  }
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
};

void WriteRefusals(Exposition& out, const engine::Counters& counters) {
  out.Counters("submix_refused_total", "Completions that were refused, by reason.", "reason",
               {{"invalid", counters.refused_invalid},
                {"queue_full", counters.refused_full},
                {"key_quota", counters.refused_quota},
                {"answers_used_up", counters.refused_exhausted},
                {"unavailable", counters.refused_unavailable}});
}

void WriteEnds(Exposition& out, const engine::Counters& counters) {
  out.Counters("submix_completions_total", "Completions that ended, by how.", "end",
               {{"finished", counters.finished},
                {"cancelled", counters.cancelled},
                {"deadline", counters.deadlines},
                {"stopped", counters.stopped},
                {"failed", counters.failed}});
}

}  // namespace

void StatusCounts::Add(int status) {
  const auto* found = std::ranges::find(kStatuses, status);
  if (found == kStatuses.end()) found = std::ranges::find(kStatuses, 500);
  counts_[static_cast<std::size_t>(found - kStatuses.begin())].fetch_add(1);
}

std::string MetricsText(const engine::Counters& counters, const StatusCounts& answers) {
  Exposition out;
  out.Family("submix_http_answers_total", "counter", "Answers to completion requests, by status.");
  for (std::size_t i = 0; i < StatusCounts::kStatuses.size(); ++i) {
    out.Sample(
        "submix_http_answers_total{status=\"" + std::to_string(StatusCounts::kStatuses[i]) + "\"}",
        answers.count(i));
  }
  out.Counter("submix_submitted_total", "Completions asked for.", counters.requests);
  WriteRefusals(out, counters);
  WriteEnds(out, counters);
  out.Counter("submix_cache_hits_total", "Completions given again from the answer cache.",
              counters.cache_hits);
  out.Counter("submix_prompt_tokens_total", "Tokens of admitted prompts.", counters.prompt_tokens);
  out.Counter("submix_prefix_tokens_total",
              "Those of them that were kept of the key's earlier prompts.", counters.prefix_tokens);
  out.Counter("submix_tokens_total", "Tokens released.", counters.tokens);
  out.Counter("submix_failed_steps_total", "Engine steps that released nothing.",
              counters.failed_steps);
  out.Gauge("submix_healthy",
            "1 while answers can be given, 0 while what they need cannot be written.",
            counters.healthy);
  out.Gauge("submix_waiting", "Completions in the queue.", counters.waiting);
  out.Gauge("submix_live", "Completions that have begun, paused ones included.", counters.live);
  return out.text();
}

std::string OperatorMetricsText(const engine::Counters& counters) {
  Exposition out;
  out.Histogram("submix_step_seconds", "Time of an engine step.", counters.steps);
  return out.text();
}

}  // namespace submix::server
