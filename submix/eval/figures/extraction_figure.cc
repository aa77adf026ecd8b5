#include "submix/eval/figures/extraction_figure.h"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "submix/accounting/fixed_nats.h"
#include "submix/corpus/partition.h"
#include "submix/eval/measuring/repeatable_draws.h"
#include "submix/eval/measuring/token_law.h"
#include "submix/mechanism/research/any_mechanism.h"

namespace submix::eval {
namespace {

using base::Status;
using base::StatusOr;

constexpr char kPrompt[] = "My number is:";

std::string SampleCode(int digits, base::RandomSource& random) {
  std::string code;
  for (int i = 0; i < digits; ++i) {
    code += static_cast<char>('0' + DrawUnit(random) * 10);
  }
  return code;
}

// The number that a completion begins with, if it has just these digits.
std::string CodeOf(const std::string& text, int digits) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string::npos) return "";
  const std::size_t end = text.find_first_not_of("0123456789", begin);
  const std::string code = text.substr(begin, end == std::string::npos ? end : end - begin);
  return static_cast<int>(code.size()) == digits ? code : "";
}

// What is sampled in one game: from a law, so many numbers of so many digits.
class CodeGame {
 public:
  CodeGame(ensemble::Predictor& predictor, const tokenizer::Tokenizer& tokenizer,
           const CodeUsers& users, int digits)
      : predictor_(predictor),
        tokenizer_(tokenizer),
        codes_(users.codes.begin(), users.codes.end()),
        digits_(digits) {}

  // Before the first number is drawn. Errors: those of Tokenizer::Encode.
  Status Encode() {
    SUBMIX_ASSIGN_OR_RETURN(prompt_, tokenizer_.EncodePrompt(kPrompt));
    for (const std::string& code : codes_) {
      SUBMIX_ASSIGN_OR_RETURN(const auto tokens, tokenizer_.EncodePrompt(kPrompt + (" " + code)));
      // One more: a number ends where something else begins.
      tokens_ = std::max(tokens_, tokens.size() - prompt_.size() + 1);
    }
    return base::OkStatus();
  }

  // Tokens that so many numbers are.
  std::int64_t Tokens(int generations) const {
    return generations * static_cast<std::int64_t>(tokens_);
  }

  StatusOr<double> HitRate(TokenLaw& law, int generations, base::RandomSource& random) const {
    SUBMIX_ASSIGN_OR_RETURN(
        const auto completions,
        Complete(predictor_, law, prompt_, {.tokens = tokens_, .count = generations}, random));
    int hits = 0;
    for (const Completion& completion : completions) {
      if (codes_.contains(CodeOf(tokenizer_.Decode(completion.tokens), digits_))) ++hits;
    }
    return static_cast<double>(hits) / generations;
  }

 private:
  ensemble::Predictor& predictor_;
  const tokenizer::Tokenizer& tokenizer_;
  const std::set<std::string> codes_;
  const int digits_;
  std::vector<base::TokenId> prompt_;
  std::size_t tokens_ = 1;
};

// One mechanism over all privacy costs.
StatusOr<FigureCurve> Curve(const CodeExperiment& experiment, const CodeGame& game,
                            const std::string& mechanism, int generations, std::uint64_t seed) {
  FigureCurve curve;
  for (const double epsilon : experiment.epsilons) {
    mechanism::MechanismOptions options;
    options.name = mechanism;
    options.num_parts = experiment.num_parts;
    options.target_leakage = epsilon / static_cast<double>(game.Tokens(generations));
    SUBMIX_ASSIGN_OR_RETURN(const auto made, mechanism::MakeAnyMechanism(options));
    curve.guarantee =
        made->Statement(accounting::FixedNats::RoundDown(epsilon)).Labels() + "; order 2";
    SUBMIX_ASSIGN_OR_RETURN(const auto law, MakeMechanismLaw(options, epsilon, /*halves=*/2, seed));
    const auto random = RepeatableDraws(seed, "codes");
    SUBMIX_ASSIGN_OR_RETURN(const double rate, game.HitRate(*law, generations, *random));
    curve.points.push_back({.x = epsilon, .y = rate});
  }
  return curve;
}

}  // namespace

CodeUsers PlantCodes(int digits, int num_parts, const base::HashKey& key, std::uint64_t seed) {
  const auto random = RepeatableDraws(seed, "planted codes", static_cast<std::uint64_t>(digits));
  CodeUsers users;
  std::set<std::pair<int, int>> filled;
  for (int number = 0; static_cast<int>(filled.size()) < 2 * num_parts; ++number) {
    const std::string user = "user" + std::to_string(number);
    const corpus::Placement placement = corpus::PlaceUser(key, user, {num_parts, 2, 0});
    if (!filled.insert({placement.part.index, placement.half}).second) {
      continue;
    }
    std::string code = SampleCode(digits, *random);
    while (std::ranges::find(users.codes, code) != users.codes.end()) {
      code = SampleCode(digits, *random);
    }
    users.codes.push_back(code);
    users.jsonl +=
        nlohmann::json{{"user", user}, {"text", std::string(kPrompt) + " " + code}}.dump() + "\n";
  }
  return users;
}

StatusOr<Figure> RunCodeExperiment(const CodeExperiment& experiment, const base::HashKey& key,
                                   const tokenizer::Tokenizer& tokenizer, const CodeTrainer& train,
                                   const ModelSource& source) {
  Figure figure = {.x_label = "epsilon, nats at order 2",
                   .y_label = "share of drawn numbers that are somebody's",
                   .log_x = true};
  const int longest = std::ranges::max(experiment.digits);
  for (const int digits : experiment.digits) {
    const CodeUsers users = PlantCodes(digits, experiment.num_parts, key, source.seed);
    SUBMIX_ASSIGN_OR_RETURN(const std::string pairs,
                            train(digits, users.jsonl, {experiment.num_parts, 2}));
    SUBMIX_ASSIGN_OR_RETURN(const std::string everybody, train(digits, users.jsonl, {1, 1}));
    SUBMIX_ASSIGN_OR_RETURN(const auto predictor, source.load(pairs, {everybody}));
    CodeGame game(*predictor, tokenizer, users, digits);
    SUBMIX_RETURN_IF_ERROR(game.Encode());
    const std::string length = ", " + std::to_string(digits) + " digits";
    const auto row = MakeRowLaw(static_cast<std::size_t>(predictor->num_members()));
    const auto random = RepeatableDraws(source.seed, "codes");
    SUBMIX_ASSIGN_OR_RETURN(const double rate,
                            game.HitRate(*row, experiment.generations.front(), *random));
    figure.curves.push_back({.name = "fine-tuned on all" + length,
                             .guarantee = "none: not private",
                             .is_level = true,
                             .points = {{.y = rate}}});
    for (const char* mechanism : {"submix", "filtered-submix"}) {
      for (const int generations : experiment.generations) {
        if (generations != experiment.generations.front() && digits != longest) continue;
        SUBMIX_ASSIGN_OR_RETURN(FigureCurve curve,
                                Curve(experiment, game, mechanism, generations, source.seed));
        curve.name = mechanism + length + ", g = " + std::to_string(generations);
        figure.curves.push_back(std::move(curve));
      }
    }
  }
  return figure;
}

}  // namespace submix::eval
