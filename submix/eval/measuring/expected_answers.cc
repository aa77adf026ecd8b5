#include "submix/eval/measuring/expected_answers.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "submix/base/text_table.h"
#include "submix/ensemble/training_cost.h"
#include "submix/eval/measuring/expected_share.h"
#include "submix/mechanism/dclip.h"
#include "submix/mechanism/filtered_submix.h"

namespace submix::eval {
namespace {

// Nats. Members that move a token by less keep at most a third under every law that was fitted, and
// far less where a part has little text, which is why nothing of it was measured.
constexpr double kNearlyPublic = 0.4;

std::int64_t NumberIn(const ensemble::Manifest& manifest, const char* option) {
  const auto found = manifest.hyper_parameters.find(option);
  return found == manifest.hyper_parameters.end() ? 0 : std::atoll(found->second.c_str());
}

// By the steps of the training, whose last blocks are seldom full: a little too much. None for
// members that were not trained here.
std::optional<MemberText> TextOf(const ensemble::Manifest& manifest) {
  const std::int64_t passes = NumberIn(manifest, "epochs");
  if (passes < 1 || manifest.members.empty() || manifest.users.value_or(0) < 1) return std::nullopt;
  std::int64_t steps = 0;
  for (const ensemble::MemberEntry& member : manifest.members) steps += member.steps;
  const auto tokens = static_cast<double>(steps / passes * NumberIn(manifest, "batch_size") *
                                          NumberIn(manifest, "block_tokens"));
  return MemberText{.parts = manifest.num_parts,
                    .tokens_a_user = tokens / static_cast<double>(*manifest.users),
                    .tokens_a_part = tokens / manifest.num_parts,
                    .passes = static_cast<int>(passes)};
}

std::string KeptSentence(double kept, MeasuredModel model, std::string_view mechanism) {
  return "expect about " + base::FixedText(kept, 2) +
         " of what fine-tuning without privacy gains in perplexity (experience with " +
         std::string(NameOf(model)) + ", on another corpus off by up to " +
         base::FixedText(ErrorOfExpectedShare(model, mechanism).elsewhere, 2) + "; not a promise)";
}

// Where nothing was measured: how far answers can be from the public model's at all.
std::string ReachSentence(const ensemble::Manifest& manifest, double reach) {
  const std::string users =
      manifest.users ? std::to_string(*manifest.users) + " users in " : std::string();
  const std::string moved = users + std::to_string(manifest.num_parts) +
                            " parts move the chance of a token by about " +
                            base::FixedText(std::expm1(reach) * 100, reach < 0.01 ? 1 : 0) +
                            " % at most under this budget";
  return reach < kNearlyPublic
             ? "expect answers that are nearly the public model's: " + moved +
                   "; more users in more parts, a larger --epsilon or fewer --tokens let them say "
                   "more"
             : moved + "; nothing like it was measured: `submix evaluate` tells what that keeps";
}

}  // namespace

base::StatusOr<ExpectedAnswers> ExpectAnswers(const ensemble::Manifest& manifest,
                                              const mechanism::MechanismOptions& declared,
                                              std::optional<MeasuredModel> model) {
  const bool is_dclip = declared.name == mechanism::kDClipName;
  if (!is_dclip && declared.name != mechanism::kFilteredSubmixName) return ExpectedAnswers{};
  if (declared.order.is_infinite()) return ExpectedAnswers{};
  double reach = Reach(manifest.num_parts, declared.order.value(), declared.target_leakage);
  if (is_dclip) {
    SUBMIX_ASSIGN_OR_RETURN(const auto dclip, mechanism::DClip::Create(declared));
    reach = dclip->clip();
  }
  ExpectedAnswers expected;
  if (auto text = TextOf(manifest)) {
    // Above a model that knows the text already members gain less: no law was fitted to that.
    text->model = ensemble::HasTrainedPublicModel(manifest) ? std::nullopt : model;
    expected.kept = ExpectedShare(declared.name, *text, reach);
  }
  expected.sentence = expected.kept ? KeptSentence(*expected.kept, *model, declared.name)
                                    : ReachSentence(manifest, reach);
  return expected;
}

}  // namespace submix::eval
