// The audit against every mechanism that is labelled sound, none of which it may reject, and
// against one with a planted bug, which it must.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "submix/base/testing/status_matchers.h"
#include "submix/eval/audits/claimed_bounds.h"
#include "submix/eval/audits/distinguishing_game.h"
#include "submix/eval/audits/epsilon_audit.h"
#include "submix/mechanism/research/any_mechanism.h"
#include "submix/mechanism/testing/simulated_predictions.h"

namespace submix::eval {
namespace audited_mechanisms_test {

using accounting::FixedNats;
using mechanism::Mechanism;
using mechanism::MechanismOptions;
using mechanism::Pmf;
using mechanism::Proposal;
using mechanism::SimulatedPredictions;

constexpr double kBudget = 2;
constexpr int kAnswersPaidFor = 8;

// --- the planted bug: every charge is half of what it must be

class HalfPricedProposal final : public Proposal {
 public:
  explicit HalfPricedProposal(std::unique_ptr<Proposal> proposal)
      : Proposal(proposal->release_id(), Halved(proposal->charges())),
        proposal_(std::move(proposal)) {}

  mechanism::PrivateMixture Mix(const std::vector<bool>& paid, base::RandomSource& random) &&
      override {
    return std::move(*proposal_).Mix(paid, random);
  }

 private:
  static std::vector<FixedNats> Halved(std::vector<FixedNats> charges) {
    for (FixedNats& charge : charges) charge = FixedNats::FromUnits(charge.units() / 2);
    return charges;
  }

  std::unique_ptr<Proposal> proposal_;
};

class HalfPriced final : public Mechanism {
 public:
  explicit HalfPriced(std::shared_ptr<const Mechanism> mechanism)
      : mechanism_(std::move(mechanism)) {}

  std::string_view name() const override { return mechanism_->name(); }
  bool is_sound() const override { return mechanism_->is_sound(); }
  accounting::ChargeRule charge_rule() const override { return mechanism_->charge_rule(); }
  int halves() const override { return mechanism_->halves(); }
  accounting::PrivacyStatement Statement(FixedNats budget) const override {
    return mechanism_->Statement(budget);
  }
  base::StatusOr<std::unique_ptr<Proposal>> Propose(const mechanism::PartPredictions& predictions,
                                                    std::span<const FixedNats> remaining,
                                                    base::ReleaseId release_id) const override {
    SUBMIX_ASSIGN_OR_RETURN(auto proposal, mechanism_->Propose(predictions, remaining, release_id));
    return std::unique_ptr<Proposal>(std::make_unique<HalfPricedProposal>(std::move(proposal)));
  }

 private:
  std::shared_ptr<const Mechanism> mechanism_;
};

// --- the worlds

// One part alone, which contradicts the public model as far as it is allowed: where the charges
// are attained.
struct Case {
  std::string label;
  MechanismOptions options;
  int transcripts = 40000;  // fewer where every transcript needs a deployment of its own
};

MechanismOptions OptionsOf(const std::string& name) {
  MechanismOptions options;
  options.name = name;
  options.num_parts = 1;
  options.max_mixing_weight = 1;
  options.target_leakage = kBudget / kAnswersPaidFor;
  return options;
}

std::vector<Case> SoundMechanisms() {
  std::vector<Case> cases;
  for (const char* name :
       {"filtered-submix", "dclip", "filtered-dclip", "gnmax", "dp-decoding", "public"}) {
    cases.push_back({name, OptionsOf(name)});
  }
  for (const char* name : {"dclip", "filtered-dclip"}) {
    Case stretched = {std::string(name) + ", stretched", OptionsOf(name)};
    stretched.options.clip = {.stretch = 4, .centre = 1};
    cases.push_back(stretched);
  }
  cases.push_back({"sample-and-aggregate", OptionsOf("sample-and-aggregate"), 4000});
  Case exact = {"sample-and-aggregate, exact", OptionsOf("sample-and-aggregate"), 4000};
  exact.options.accounting = mechanism::ChargeAccounting::kLeaveOneOut;
  cases.push_back(exact);
  Case pmixed = {"pmixed", OptionsOf("pmixed"), 4000};
  pmixed.options.accounting = mechanism::ChargeAccounting::kWorstCase;
  pmixed.options.sampling_probability = 0.8;
  cases.push_back(pmixed);
  for (const char* behind : {"filtered-submix", "dclip", "filtered-dclip"}) {
    Case screened = {std::string("screened ") + behind, OptionsOf("screened"), 4000};
    screened.options.screen = {1, 4, .05, 2};
    screened.options.screened_mechanism = behind;
    cases.push_back(screened);
  }
  return cases;
}

struct Verdict {
  EpsilonAudit audit;
  ClaimedBounds claim;
};

// Twice as many answers as are paid for: a charge that is too low buys more of them.
Verdict Audit(const std::shared_ptr<const Mechanism>& mechanism, int transcripts,
              std::uint64_t seed) {
  auto game = *DistinguishingGame::Create({.mechanism = mechanism, .epsilon = kBudget},
                                          {.transcripts = transcripts, .seed = seed});
  const Pmf public_pmf = {.6, .4};
  const SimulatedPredictions with(public_pmf, {{.05, .95}});
  const SimulatedPredictions without(public_pmf, {public_pmf});
  for (int i = 0; i < 2 * kAnswersPaidFor; ++i) {
    EXPECT_TRUE(game.Ask(with.view(), without.view()).ok());
  }
  Verdict verdict;
  verdict.claim = *ClaimOf(*mechanism, kBudget, accounting::PrivacyUnit::kPart, 1e-5);
  AuditOptions audit_options;
  audit_options.error = 1e-6;
  audit_options.order = verdict.claim.bounds[0].order;
  verdict.audit = AuditEpsilon(game.with(), game.without(), audit_options);
  return verdict;
}

TEST(AuditedMechanismsTest, NoSoundMechanismIsRejected) {
  std::uint64_t seed = 100;
  for (const Case& sound : SoundMechanisms()) {
    const std::shared_ptr<const Mechanism> mechanism = *mechanism::MakeAnyMechanism(sound.options);
    ASSERT_TRUE(mechanism->is_sound()) << sound.label;
    const Verdict verdict = Audit(mechanism, sound.transcripts, seed++);
    EXPECT_LE(verdict.audit.rdp, verdict.claim.bounds[0].rdp) << sound.label;
    EXPECT_LE(verdict.audit.epsilon, verdict.claim.epsilon) << sound.label;
    RecordProperty(sound.label, std::to_string(verdict.audit.rdp));
  }
}

// Every name that can be sound is above: a new mechanism must join.
TEST(AuditedMechanismsTest, AllSoundMechanismsAreAmongThem) {
  std::string audited;
  for (const Case& sound : SoundMechanisms()) audited += sound.options.name + ", ";
  for (const char* research : {"submix", "adapmixed", "ensemble"}) {
    audited += std::string(research) + ", ";
  }
  std::string names = mechanism::AnyMechanismNames() + ", ";
  for (std::size_t begin = 0; begin < names.size();) {
    const std::size_t end = names.find(", ", begin);
    const std::string name = names.substr(begin, end + 2 - begin);
    EXPECT_NE(audited.find(name), std::string::npos) << name << "is not audited";
    begin = end + 2;
  }
}

TEST(AuditedMechanismsTest, HalvedChargesAreFound) {
  for (const char* name : {"filtered-submix", "filtered-dclip"}) {
    const std::shared_ptr<const Mechanism> mechanism =
        *mechanism::MakeAnyMechanism(OptionsOf(name));
    const Verdict honest = Audit(mechanism, 40000, 200);
    EXPECT_LE(honest.audit.rdp, kBudget) << name;
    EXPECT_GT(honest.audit.rdp, 0.5 * kBudget) << name << ": an audit that finds nothing";
    const Verdict broken = Audit(std::make_shared<HalfPriced>(mechanism), 40000, 201);
    RecordProperty(name, std::to_string(broken.audit.rdp));
    EXPECT_GT(broken.audit.rdp, broken.claim.bounds[0].rdp)
        << name << ": the planted bug was not found";
  }
}

}  // namespace audited_mechanisms_test
}  // namespace submix::eval
