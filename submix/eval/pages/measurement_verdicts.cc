#include "submix/eval/pages/measurement_verdicts.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>

#include "submix/accounting/privacy_statement.h"
#include "submix/accounting/rdp_conversion.h"
#include "submix/eval/pages/four_digits.h"

namespace submix::eval {
namespace {

using base::JsonObject;
using divergence::RenyiOrder;

// Of several tests at a level of 5 %: each alone at its share.
constexpr double kLevel = 0.05;

// --- Rows

using Rows = std::vector<JsonObject>;

// A number, or text that is one; none where there is neither.
std::optional<double> NumberIn(const JsonObject& row, std::string_view field) {
  if (const auto number = row.Number(field); number.ok()) return *number;
  const auto text = row.Text(field);
  if (!text.ok()) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  const bool is_whole = error == std::errc() && end == text->data() + text->size();
  return is_whole ? std::optional(value) : std::nullopt;
}

double NumberOr0(const JsonObject& row, std::string_view field) {
  return NumberIn(row, field).value_or(0);
}

std::string TextIn(const JsonObject& row, std::string_view field) {
  const auto text = row.Text(field);
  return text.ok() ? *text : "";
}

// A number or "inf"; none where there is neither.
std::optional<RenyiOrder> OrderIn(const JsonObject& row) {
  const auto number = NumberIn(row, "order");
  const auto order = number ? RenyiOrder::Create(*number) : RenyiOrder::Parse(TextIn(row, "order"));
  return order.ok() ? std::optional(*order) : std::nullopt;
}

// What is claimed of the row's mechanism is not proven.
bool IsResearch(const JsonObject& row) { return TextIn(row, "guarantee") == "research"; }

// One model or mechanism under one budget.
struct Attacked {
  std::string model;
  std::optional<double> epsilon;    // none: no budget
  std::optional<RenyiOrder> order;  // none beside an epsilon: that is of (epsilon, delta)
  bool is_research = false;
  Rows rows = {};

  bool has_promise() const { return epsilon.has_value(); }
  std::string Name() const {
    if (!epsilon) return model;
    if (!order) return model + " with epsilon " + FourDigits(*epsilon);
    return model + " with " + FourDigits(*epsilon) + " nats at order " +
           accounting::FormatOrder(*order);
  }
};

// Rows of one model and budget together, in the order of their first.
std::vector<Attacked> ByModel(const Rows& rows) {
  std::vector<Attacked> attacked;
  for (const JsonObject& row : rows) {
    const std::string model = TextIn(row, "model");
    const auto order = OrderIn(row);
    const auto epsilon = NumberIn(row, "epsilon");
    auto known = std::ranges::find_if(attacked, [&](const Attacked& each) {
      return each.model == model && each.epsilon == epsilon && each.order == order;
    });
    if (known == attacked.end()) {
      attacked.push_back({model, epsilon, order, IsResearch(row)});
      known = attacked.end() - 1;
    }
    known->rows.push_back(row);
  }
  return attacked;
}

// --- What a promise allows

// " The promise allows an answer to become at most 36.6 times as likely as without …". Empty where
// no (epsilon, delta) follows.
std::string AllowedRatio(const Attacked& attacked) {
  if (attacked.is_research) return " Its claim is research, and not proven.";
  if (!attacked.epsilon || !attacked.order) return "";
  const auto epsilon =
      accounting::EpsilonForDelta({*attacked.order, *attacked.epsilon}, accounting::kDefaultDelta,
                                  accounting::ConversionKind::kImproved);
  if (!epsilon.ok()) return "";
  return " The promise allows an answer to become at most " + MostTimesText(*epsilon) +
         " as likely as without the text of one part, but for a chance of " +
         FourDigits(accounting::kDefaultDelta) + ".";
}

// What was got out of one model or mechanism.
struct Found {
  std::string text;
  bool is_nothing = false;
};

// One verdict for each promise, with the others' results behind it, to compare with.
template <typename Result>
std::vector<Verdict> WithComparison(const Rows& rows, const std::string& opening,
                                    const Result& result) {
  std::vector<Verdict> verdicts;
  std::string others;
  const std::vector<Attacked> all = ByModel(rows);
  for (const Attacked& attacked : all) {
    if (attacked.has_promise()) continue;
    others += (others.empty() ? " To compare: " : "; ") + attacked.model + ": " +
              result(attacked.rows).text;
  }
  if (!others.empty()) others += ".";
  for (const Attacked& attacked : all) {
    if (!attacked.has_promise()) continue;
    const Found found = result(attacked.rows);
    verdicts.push_back({opening + " Under " + attacked.Name() + ": " + found.text + "." +
                            AllowedRatio(attacked) + others,
                        found.is_nothing ? VerdictTone::kHeld : VerdictTone::kNotJudged});
  }
  if (verdicts.empty()) verdicts.push_back({opening + " No promise was attacked." + others});
  return verdicts;
}

// --- Kinds

std::vector<Verdict> OfExtraction(const Rows& rows) {
  const auto result = [](const Rows& of_model) {
    Found found = {"", true};
    std::string& text = found.text;
    for (const JsonObject& row : of_model) {
      const double attempts = NumberOr0(row, "attempts");
      const double hits = NumberOr0(row, "hits");
      if (!text.empty()) text += ", ";
      text += FourDigits(NumberOr0(row, "extracted")) + " of " +
              FourDigits(NumberOr0(row, "codes")) + " came out, in " + FourDigits(hits) + " of " +
              FourDigits(attempts) + " attempts";
      if (TextIn(row, "decoding") == "greedy") {
        text += " at the likeliest tokens, which no client can take";
        continue;
      }
      found.is_nothing = found.is_nothing && hits == 0;
      if (hits == 0 && attempts > 0) {
        text += " (a rate below " + PercentText(1 - std::pow(kLevel, 1 / attempts)) +
                " at 95 % confidence)";
      }
    }
    return found;
  };
  return WithComparison(rows, "Planted secrets were asked for by the words before them.", result);
}

std::vector<Verdict> OfExposure(const Rows& rows) {
  const auto result = [](const Rows& of_model) {
    double sum = 0;
    for (const JsonObject& row : of_model) sum += NumberOr0(row, "exposure");
    return Found{FourDigits(sum / static_cast<double>(of_model.size())) + " of " +
                 FourDigits(NumberOr0(of_model.front(), "bits")) + " bits exposed on average"};
  };
  return WithComparison(rows,
                        "Planted secrets were ranked by likelihoods, which clients could only "
                        "estimate, among all that might have stood there; 1.4 bits are chance.",
                        result);
}

std::vector<Verdict> OfTargeted(const Rows& rows) {
  const auto result = [](const Rows& of_model) {
    const JsonObject& row = of_model.front();
    const double right = NumberOr0(row, "right");
    return Found{FourDigits(right) + " of " + FourDigits(NumberOr0(row, "examples")) +
                     " guessed whole, " + PercentText(NumberOr0(row, "tokens_right")) +
                     " of their tokens",
                 right == 0};
  };
  return WithComparison(rows, "Private texts were to be continued from their beginnings.", result);
}

Verdict MembershipVerdict(const Attacked& attacked) {
  std::string sentence =
      "From served tokens, somebody who knows all models with and without a text told which it "
      "was. Under " +
      attacked.Name() + ":";
  const std::string allows =
      attacked.is_research ? "its claim, which is not proven, allows " : "the promise allows ";
  bool has_bound = false;
  bool is_bad = false;
  for (const JsonObject& row : attacked.rows) {
    const auto surely = NumberIn(row, "surely");
    const auto bound = NumberIn(row, "bound");
    has_bound = has_bound || bound.has_value();
    is_bad = is_bad || (surely && bound && *surely > *bound);
    if (TextIn(row, "measure") != "TPR at FPR 0.01") continue;
    sentence += " at 1 % false alarms the text was recognised in " +
                PercentText(NumberOr0(row, "value")) + " of the cases in which it was there";
    if (bound) sentence += "; " + allows + MostPercentText(*bound);
  }
  if (!has_bound) return {sentence + ". Nothing is promised."};
  if (is_bad) return {sentence + ". WHAT WAS FOUND SURELY EXCEEDS IT.", VerdictTone::kBroken};
  return {sentence + ". Nothing that was found surely exceeds it.", VerdictTone::kHeld};
}

std::vector<Verdict> OfMembership(const Rows& rows) {
  std::vector<Verdict> verdicts;
  for (const Attacked& attacked : ByModel(rows)) verdicts.push_back(MembershipVerdict(attacked));
  return verdicts;
}

// How an audit's column `verdict` reads.
Verdict AuditEnding(const std::string& verdict) {
  if (verdict == "not refuted") {
    return {" That is not refuted, which proves no privacy.", VerdictTone::kHeld};
  }
  if (verdict == "REFUTED") return {" THE PROMISE IS REFUTED.", VerdictTone::kBroken};
  if (verdict == "exceeded") {
    return {" MORE WAS SPENT THAN IS CLAIMED; the claim is not proven.", VerdictTone::kBroken};
  }
  return {" Nothing is promised."};
}

std::string ProvenEpsilon(const JsonObject& row) {
  const auto claimed = NumberIn(row, "claimed_epsilon");
  return "epsilon was at least " + accounting::FormatAllowance(NumberOr0(row, "epsilon_at_least")) +
         " (delta " + FourDigits(NumberOr0(row, "delta")) + ")" +
         (claimed ? (IsResearch(row) ? "; its claim, which is not proven, is "
                                     : "; the promise is at most ") +
                        accounting::FormatCost(*claimed)
                  : "") +
         ".";
}

Verdict AuditVerdict(const JsonObject& row, const std::string& opening) {
  const Verdict ending = AuditEnding(TextIn(row, "verdict"));
  return {opening + ProvenEpsilon(row) + ending.sentence, ending.tone};
}

std::vector<Verdict> OfEpsilonAudit(const Rows& rows) {
  std::vector<Verdict> verdicts;
  for (const JsonObject& row : rows) {
    verdicts.push_back(AuditVerdict(
        row, "Transcripts with and without a text, of " + TextIn(row, "model") + ", prove that "));
  }
  return verdicts;
}

std::vector<Verdict> OfOneRunAudit(const Rows& rows) {
  std::vector<Verdict> verdicts;
  for (const JsonObject& row : rows) {
    verdicts.push_back(AuditVerdict(
        row, "It was guessed of parts whether they were there, under " + TextIn(row, "model") +
                 ": " + FourDigits(NumberOr0(row, "right")) + " of " +
                 FourDigits(NumberOr0(row, "guessed")) + " guesses were right. That proves that "));
  }
  return verdicts;
}

// Both tests of a comparison.
constexpr const char* kTimingTests[] = {"all", "without_slowest_tenth"};

std::vector<Verdict> OfTiming(const Rows& rows) {
  const double tests = static_cast<double>(rows.size() * std::size(kTimingTests));
  double least_p = 1;
  std::string seen;
  std::map<double, double> hidden_by_quantum;  // milliseconds each
  for (const JsonObject& row : rows) {
    bool is_seen = false;
    for (const char* name : kTimingTests) {
      const auto test = row.Object(name);
      if (!test.ok()) return {};
      const double p = NumberIn(*test, "p_value").value_or(1);
      least_p = std::min(least_p, p);
      is_seen = is_seen || p < kLevel / tests;
    }
    const double quantum = NumberOr0(row, "quantum_ms");
    double& hidden = hidden_by_quantum[quantum];
    const auto usual = row.Object(kTimingTests[1]);
    hidden = std::max(hidden, NumberOr0(*usual, "detectable_difference_ms"));
    if (!is_seen) continue;
    seen += (seen.empty() ? "" : "; ") + TextIn(row, "first") + ", then " + TextIn(row, "second") +
            (quantum > 0 ? " (padded): " : ": ") + FourDigits(NumberOr0(*usual, "difference_ms")) +
            " ms";
  }
  std::string sentence =
      seen.empty() ? "No difference was seen that is more than chance: of " + FourDigits(tests) +
                         " tests the least p is " + FourDigits(least_p) + "."
                   : "A DIFFERENCE WAS SEEN, of which chance makes fewer than one in " +
                         FourDigits(1 / kLevel) + " audits: " + seen +
                         ". Run it again on a quiet machine; if it stays, pad tokens.";
  for (const auto& [quantum, hidden] : hidden_by_quantum) {
    sentence += quantum > 0 ? " Padded to multiples of " + FourDigits(quantum) + " ms, "
                            : std::string(" Without padding, ");
    sentence += "one of " + FourDigits(hidden) + " ms would have been seen 4 times in 5.";
  }
  return {{sentence + " The promise does not cover time.",
           seen.empty() ? VerdictTone::kHeld : VerdictTone::kBroken}};
}

// Further settings are for the table.
constexpr std::size_t kSettingsInSentence = 4;

std::vector<Verdict> OfEvaluation(const Rows& rows) {
  std::string sentence = "Text that no model has read was predicted; a lower perplexity is better.";
  std::size_t settings = 0;
  for (const JsonObject& row : rows) {
    const Attacked scored = ByModel({row}).front();
    if (scored.has_promise() && ++settings > kSettingsInSentence) continue;
    const bool is_compared = scored.model == "public" || scored.model == "fine-tuned";
    if (!scored.has_promise() && !is_compared) continue;
    sentence += " " + scored.Name() + ": " + FourDigits(NumberOr0(row, "perplexity"));
    const auto kept = NumberIn(row, "kept");
    if (scored.has_promise() && kept) {
      sentence +=
          ", which keeps " + PercentText(*kept) + " of what fine-tuning without privacy gains";
    }
    sentence += ".";
  }
  if (settings > kSettingsInSentence) {
    sentence += " Settings not named here: " +
                CountText(static_cast<std::int64_t>(settings - kSettingsInSentence)) + ".";
  }
  return {{sentence}};
}

struct JudgedKind {
  MeasuredKind kind;
  std::vector<Verdict> (*verdicts)(const Rows& rows);
};

constexpr JudgedKind kJudged[] = {
    {{"attack extraction", "Planted secrets: do answers contain them?"}, OfExtraction},
    {{"attack exposure", "Planted secrets: how much do likelihoods give away?"}, OfExposure},
    {{"attack targeted", "Private text: can its continuation be guessed?"}, OfTargeted},
    {{"attack membership", "Served tokens: was a text there?"}, OfMembership},
    {{"audit epsilon", "Audit of epsilon, by many transcripts"}, OfEpsilonAudit},
    {{"audit one-run", "Audit of epsilon, all parts at once"}, OfOneRunAudit},
    {{"audit timing", "What the clock tells"}, OfTiming},
    {{"evaluate", "What the answers are worth"}, OfEvaluation},
};

}  // namespace

std::span<const MeasuredKind> MeasuredKinds() {
  static const auto kinds = [] {
    std::vector<MeasuredKind> all;
    for (const JudgedKind& judged : kJudged) all.push_back(judged.kind);
    return all;
  }();
  return kinds;
}

std::vector<Verdict> VerdictsOf(const Measurement& measurement) {
  for (const JudgedKind& judged : kJudged) {
    if (judged.kind.kind == measurement.kind) return judged.verdicts(measurement.rows);
  }
  return {};
}

}  // namespace submix::eval
