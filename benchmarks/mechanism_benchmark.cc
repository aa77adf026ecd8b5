// How long a mechanism takes for one answer, from logits in memory to the token: pmfs of the kept
// tokens, then proposal, mixture (and screen, where there is one) and draw. One JSON object a line.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <numbers>
#include <sstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "submix/base/random.h"
#include "submix/mechanism/mapped_predictions.h"
#include "submix/mechanism/operator_view.h"
#include "submix/mechanism/research/any_mechanism.h"

namespace submix {
namespace {

using Clock = std::chrono::steady_clock;

struct Settings {
  std::vector<std::string> mechanisms;  // empty: all that there are
  std::vector<int> parts = {8, 16};
  int halves = 2;
  std::vector<std::size_t> vocabularies = {50257};
  mechanism::SamplingOptions sampling;
  std::string order = "2";
  double target_leakage = 2.0 / 1024;
  double ball_radius = 0.5;
  int repetitions = 31;
  bool json = false;
};

std::vector<std::string> KnownMechanisms() {
  std::istringstream list(mechanism::AnyMechanismNames());
  std::vector<std::string> names;
  for (std::string name; std::getline(list >> std::ws, name, ',');) names.push_back(name);
  return names;
}

double MillisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Standard normal, by Box and Muller.
double NextNormal(base::RandomSource& random) {
  const double u = (static_cast<double>(random.NextUint64() >> 11) + 0.5) * 0x1p-53;
  const double v = static_cast<double>(random.NextUint64() >> 11) * 0x1p-53;
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

// Logits of a peaked public model and of members that differ from it by noise of sd 0.5, roughly
// what fine-tuned language models do.
void MakeLogits(base::RandomSource& random, std::size_t vocabulary, std::size_t members,
                std::vector<float>& public_logits, std::vector<float>& member_logits) {
  for (std::size_t x = 0; x < vocabulary; ++x) {
    public_logits.push_back(static_cast<float>(2.5 * NextNormal(random)));
  }
  for (std::size_t row = 0; row < members; ++row) {
    for (std::size_t x = 0; x < vocabulary; ++x) {
      member_logits.push_back(public_logits[x] + static_cast<float>(0.5 * NextNormal(random)));
    }
  }
}

// Everybody pays.
base::StatusOr<std::size_t> Answer(const mechanism::Mechanism& mechanism,
                                   const mechanism::PartPredictions& predictions,
                                   const std::vector<accounting::FixedNats>& remaining,
                                   base::RandomSource& random) {
  const std::vector<bool> paid(remaining.size(), true);
  SUBMIX_ASSIGN_OR_RETURN(auto proposal, mechanism.Propose(predictions, remaining, {}));
  while (proposal->leads_to_screen()) {
    auto screen = std::move(*proposal).Screen(paid);
    SUBMIX_ASSIGN_OR_RETURN(
        proposal, mechanism::OperatorView::Open(std::move(screen), random, remaining, {}));
  }
  const auto mixture = std::move(*proposal).Mix(paid, random);
  return mechanism::OperatorView::Draw(mixture, random);
}

base::Status Measure(const Settings& settings, const std::string& name, int num_parts,
                     std::size_t vocabulary) {
  mechanism::MechanismOptions options;
  options.name = name;
  options.num_parts = num_parts;
  SUBMIX_ASSIGN_OR_RETURN(options.order, divergence::RenyiOrder::Parse(settings.order));
  options.target_leakage = settings.target_leakage;
  options.ball_radius = settings.ball_radius;
  SUBMIX_ASSIGN_OR_RETURN(const std::unique_ptr<mechanism::Mechanism> mechanism,
                          mechanism::MakeAnyMechanism(options));

  const auto random = base::MakeSystemRandomSource();
  std::vector<float> public_logits;
  std::vector<float> member_logits;
  const int halves = std::max(settings.halves, mechanism->halves());
  MakeLogits(*random, vocabulary, static_cast<std::size_t>(num_parts * halves), public_logits,
             member_logits);
  mechanism::MappedPredictions mapped;
  const std::vector<accounting::FixedNats> remaining(static_cast<std::size_t>(num_parts),
                                                     accounting::FixedNats::RoundDown(2));
  std::vector<double> map_ms;
  std::vector<double> answer_ms;
  for (int i = 0; i < settings.repetitions; ++i) {
    const auto start = Clock::now();
    SUBMIX_RETURN_IF_ERROR(mapped.Map(public_logits, member_logits, halves, settings.sampling));
    map_ms.push_back(MillisecondsSince(start));
    const auto mapped_at = Clock::now();
    SUBMIX_RETURN_IF_ERROR(Answer(*mechanism, mapped.view(), remaining, *random).status());
    answer_ms.push_back(MillisecondsSince(mapped_at));
  }
  std::printf(settings.json ? "{\"mechanism\":\"%s\",\"parts\":%d,\"halves\":%d,\"order\":\"%s\","
                              "\"vocabulary\":%zu,\"kept\":%zu,\"ms_per_answer\":%.4f,"
                              "\"ms_to_map\":%.4f}\n"
                            : "%s, %d parts of %d, order %s, %zu tokens, %zu kept: %.4f ms an "
                              "answer, after %.4f ms from logits to pmfs\n",
              name.c_str(), num_parts, halves, options.order.ToString().c_str(), vocabulary,
              mapped.view().support_size(), Median(answer_ms), Median(map_ms));
  std::fflush(stdout);
  return base::OkStatus();
}

int Run(int argc, char** argv) {
  Settings settings;
  CLI::App app{"Times what a mechanism does for one answer; medians."};
  app.add_option("--mechanism", settings.mechanisms, "names, separated by commas; default: all")
      ->delimiter(',');
  app.add_option("--parts", settings.parts, "k, separated by commas; one line each")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  app.add_option("--halves", settings.halves, "members a part; some mechanisms need 2")
      ->check(CLI::Range(1, 2));
  app.add_option("--vocabulary", settings.vocabularies,
                 "tokens, separated by commas; one line each")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  app.add_option("--top-k", settings.sampling.top_k, "tokens kept; 0: all");
  app.add_option("--top-p", settings.sampling.top_p, "share of the public mass that is kept");
  app.add_option("--order", settings.order, "order of the charges: 2, 1.5, inf");
  app.add_option("--target-leakage", settings.target_leakage, "beta, in nats");
  app.add_option("--ball-radius", settings.ball_radius, "of mechanisms that take one, in nats");
  app.add_option("--repetitions", settings.repetitions, "answers timed")
      ->check(CLI::PositiveNumber);
  app.add_flag("--json", settings.json, "one JSON object a line");
  CLI11_PARSE(app, argc, argv);
  if (settings.mechanisms.empty()) settings.mechanisms = KnownMechanisms();
  int exit_code = 0;
  for (const std::string& name : settings.mechanisms) {
    for (const int num_parts : settings.parts) {
      for (const std::size_t vocabulary : settings.vocabularies) {
        const base::Status status = Measure(settings, name, num_parts, vocabulary);
        if (status.ok()) continue;
        std::fprintf(stderr, "mechanism_benchmark: %s: %s\n", name.c_str(),
                     status.ToString().c_str());
        exit_code = 1;
      }
    }
  }
  return exit_code;
}

}  // namespace
}  // namespace submix

int main(int argc, char** argv) { return submix::Run(argc, argv); }
