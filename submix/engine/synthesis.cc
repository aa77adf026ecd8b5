#include "submix/engine/synthesis.h"

#include <algorithm>
#include <map>
#include <utility>

#include "submix/base/check.h"
#include "submix/engine/ledger_view.h"
#include "submix/mechanism/baselines/public_model.h"

namespace submix::engine {
namespace {

using base::Status;
using base::StatusOr;

// By the ids of their requests.
using LiveDocuments = std::map<std::int64_t, SynthesizedDocument>;

Status Admit(EngineCore& core, const Request& request, std::int64_t number, LiveDocuments& live) {
  SUBMIX_ASSIGN_OR_RETURN(const std::int64_t id, core.Admit(request));
  live[id].number = number;
  return base::OkStatus();
}

Status Deliver(EngineCore& core, const TokenEvent& event, LiveDocuments& live,
               const SynthesisSinks& sinks) {
  if (!event.token) return StatusOf(event.end);
  const auto found = live.find(event.request_id);
  SUBMIX_CHECK(found != live.end(), "a token without a document");
  SynthesizedDocument& document = found->second;
  document.text += event.text;
  document.tokens.push_back(*event.token);
  if (event.end == AnswerEnd::kNotYet) return base::OkStatus();
  document.end = event.end;
  const SynthesizedDocument ended = std::move(document);
  live.erase(found);
  SUBMIX_ASSIGN_OR_RETURN(const auto next, sinks.ended(ended));
  return next ? Admit(core, *next, ended.number, live) : base::OkStatus();
}

Status Step(EngineCore& core, LiveDocuments& live, const SynthesisSinks& sinks) {
  SUBMIX_ASSIGN_OR_RETURN(const auto events, core.Step());
  for (const TokenEvent& event : events) {
    SUBMIX_RETURN_IF_ERROR(Deliver(core, event, live, sinks));
  }
  sinks.step(std::ssize(events));
  return base::OkStatus();
}

}  // namespace

StatusOr<std::optional<std::int64_t>> CoveredTokens(const Deployment& deployment) {
  if (deployment.mechanism->name() == mechanism::kPublicModelName) return std::nullopt;
  if (!deployment.mechanism->has_constant_charge()) return SureTokens(deployment.config);
  const double most_nats = deployment.config.options.mechanism.target_leakage;
  SUBMIX_ASSIGN_OR_RETURN(const auto accounts, deployment.ledger->Accounts());
  const auto answers = [&](const ledger::Account& part) { return SureTokens(part, most_nats); };
  return answers(*std::ranges::min_element(accounts, {}, answers));
}

Status Synthesize(EngineCore& core, std::span<const std::int64_t> numbers, int at_a_time,
                  const std::function<StatusOr<Request>(std::int64_t number)>& request,
                  const SynthesisSinks& sinks) {
  SUBMIX_CHECK(core.idle() && at_a_time >= 1, "synthesis has the engine for itself");
  LiveDocuments live;
  Status status;
  while (status.ok() && (!numbers.empty() || !live.empty())) {
    while (status.ok() && !numbers.empty() && std::ssize(live) < at_a_time) {
      const StatusOr<Request> asked = request(numbers.front());
      status = asked.ok() ? Admit(core, *asked, numbers.front(), live) : asked.status();
      numbers = numbers.subspan(1);
    }
    if (status.ok()) status = Step(core, live, sinks);
  }
  for (const auto& [id, document] : live) core.Cancel(id);
  return status;
}

}  // namespace submix::engine
