#include "submix/eval/figures/paper_figures.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "submix/accounting/rdp_conversion.h"
#include "submix/base/number_text.h"
#include "submix/divergence/renyi_order.h"
#include "submix/eval/figures/decoding_examples.h"
#include "submix/mechanism/declaring/user_budget.h"
#include "submix/mechanism/research/any_mechanism.h"

namespace submix::eval {
namespace {

using base::NumberText;
using divergence::RenyiOrder;
using mechanism::ChargeAccounting;

// What the paper prints of the models without a mechanism.
const PaperNumber kPublicModel = {"public model", 37.5, "public model"};
const PaperNumber kFineTuned = {"fine-tuned without privacy", 20.0, "fine-tuned on all text"};
constexpr char kWhatDiffers[] =
    "The paper's model is GPT-2 on WikiText-103 and BigPatent-G, ours is the public model and the "
    "corpora named below; levels and slopes compare, absolute perplexities do not. ";

// A line of a figure: a mechanism and how its charges are counted.
struct Contender {
  std::string name;
  std::string mechanism;
  ChargeAccounting accounting = ChargeAccounting::kDefault;
};
const Contender kSubmix = {"SubMix", "submix"};
const Contender kSampleAndAggregate = {"S&A", "sample-and-aggregate", ChargeAccounting::kPublished};
const Contender kGnmax = {"GNMax", "gnmax", ChargeAccounting::kPublished};
const Contender kFiltered = {"filtered-submix (sound)", "filtered-submix"};
const Contender kDclip = {"dclip (sound)", "dclip"};

// A contender that is asked `tokens` times under `epsilon` nats at `order`, each token at most
// its share (the papers' beta = epsilon / B). Largest weight and clip keep most; they were chosen
// once, on blogs of users whom no figure scores (docs/results/README.md), and the sound mechanisms'
// guarantees do not depend on them.
EvaluationSetting Asked(const Contender& contender, double order, double epsilon, double tokens) {
  EvaluationSetting setting;
  setting.mechanism.name = contender.mechanism;
  setting.mechanism.accounting = contender.accounting;
  setting.mechanism.order = RenyiOrder::Create(order).value();
  setting.mechanism.max_mixing_weight = 0.7;
  setting.mechanism.clip = {.stretch = 1.5, .centre = 0.5};
  setting.epsilon = epsilon;
  setting.tokens = static_cast<std::int64_t>(tokens);
  return setting;
}

// Numbers of answers and ensembles at a size.
double Tokens(double tokens, const StudySize& size) {
  return static_cast<double>(std::clamp<std::int64_t>(
      static_cast<std::int64_t>(tokens) / size.divide_tokens, 4, size.most_tokens));
}

// An axis of numbers of answers.
std::vector<double> QueriesOf(const std::vector<double>& values, const StudySize& size) {
  std::vector<double> tokens = Thinned(values, size.every_nth);
  for (double& value : tokens) value = Tokens(value, size);
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  return tokens;
}

EnsembleShape Shape(int parts, int halves, const StudySize& size) {
  return {std::min(parts, size.most_parts), halves};
}

void AddCurve(PerplexityStudy& study, const std::string& name, const EnsembleShape& shape,
              const std::vector<double>& values,
              const std::function<EvaluationSetting(double)>& asked) {
  StudyCurve<EnsembleSetting>& curve = study.curves.emplace_back();
  curve.name = name;
  for (const double value : values) curve.points.push_back({value, {shape, asked(value)}});
}

PerplexityStudy NewStudy(const std::string& title, const std::string& x_label,
                         const EnsembleShape& reference, int runs, const StudySize& size) {
  PerplexityStudy study;
  study.figure = {.title = title, .x_label = x_label, .y_label = "perplexity", .log_x = true};
  study.reference = reference;
  study.runs = size.runs > 0 ? size.runs : runs;
  study.reading = kWhatDiffers;
  return study;
}

// What the mechanisms of a figure of SubMix are asked at a point.
struct Question {
  double epsilon = 2;
  double tokens = 1024;
  double order = 2;
  double parts = 8;  // in pairs
};

// A number of the question that varies; nullptr: none does.
struct Axis {
  double Question::*number = nullptr;
  std::vector<double> values = {0};
  std::string name = {};  // in the names of curves
};
const Axis kOverEpsilon = {&Question::epsilon, {0.5, 1, 2, 4, 8, 16, 32, 64, 128}};

// A figure of SubMix: a curve for each contender and value of `series`.
struct SubmixFigure {
  std::string title;
  std::vector<Contender> contenders = {kSubmix, kFiltered, kDclip};
  Axis x = kOverEpsilon;
  Axis series = {};
  Question question = {};  // what neither axis varies
  // Of DP-SGD at what an ensemble's whole budget would cost: points over epsilon, else levels.
  std::vector<double> private_epsilons = {};
  std::vector<PaperNumber> paper = {};
  std::string reading = {};
};

void AddPrivateModels(const std::vector<double>& epsilons, bool by_epsilon, const StudySize& size,
                      PerplexityStudy& study) {
  for (const int epochs : size.private_epochs) {
    for (const double epsilon : Thinned(epsilons, size.every_nth)) {
      const std::string level = by_epsilon ? "" : ", epsilon = " + NumberText(epsilon);
      const auto x = by_epsilon ? std::optional(epsilon) : std::nullopt;
      study.private_trainings.push_back(
          {"DP-SGD, E = " + std::to_string(epochs) + level, x, epochs, 2, epsilon});
    }
  }
  study.reading +=
      size.private_epochs.empty()
          ? "The paper's DP-SGD curves are left out (--dp-sgd-epochs). "
          : "DP-SGD protects a user, added or removed, whatever is asked; SubMix a part, for B "
            "answers. ";
}

PerplexityStudy SubmixStudy(const SubmixFigure& figure, const StudySize& size) {
  const bool is_over_tokens = figure.x.number == &Question::tokens;
  const bool varies_order = figure.series.number == &Question::order;
  const std::string x_label = is_over_tokens ? "answers B"
                              : varies_order ? "epsilon, nats at the order"
                                             : "epsilon, nats at order 2";
  PerplexityStudy study = NewStudy(figure.title, x_label, Shape(8, 2, size), /*runs=*/4, size);
  const std::vector<double> values =
      is_over_tokens ? QueriesOf(figure.x.values, size) : Thinned(figure.x.values, size.every_nth);
  for (const Contender& contender : figure.contenders) {
    for (const double value : figure.series.values) {
      Question question = figure.question;
      std::string name = contender.name;
      if (figure.series.number != nullptr) {
        question.*figure.series.number = value;
        name += ", " + figure.series.name + NumberText(value);
      }
      if (figure.series.number == &Question::parts && value > size.most_parts) continue;
      question.tokens = Tokens(question.tokens, size);
      const auto asked = [&](double x) {
        question.*figure.x.number = x;
        return Asked(contender, question.order, question.epsilon, question.tokens);
      };
      AddCurve(study, name, Shape(static_cast<int>(question.parts), 2, size), values, asked);
    }
  }
  if (!figure.private_epsilons.empty()) {
    AddPrivateModels(figure.private_epsilons, !is_over_tokens, size, study);
  }
  study.paper = figure.paper;
  study.reading += figure.reading;
  return study;
}

// General mechanisms with their noise swept; the cost is what their accounting says was spent.
PerplexityStudy SubmixFigure7(const StudySize& size) {
  const std::vector<double> epsilons = {1, 1e1, 1e2, 1e3, 8e3};
  PerplexityStudy study = SubmixStudy({.title = "SubMix, Figure 7: S&A and GNMax, B = 1,024",
                                       .contenders = {kSampleAndAggregate, kGnmax},
                                       .x = {&Question::epsilon, epsilons},
                                       .series = {&Question::parts, {4, 8, 16, 32, 64}, "k = "}},
                                      size);
  study.figure.x_label = "epsilon spent, nats at order 2";
  study.x_is_spent = true;
  study.figure.log_y = true;
  AddCurve(study, "GNMax, k = 8, the paper's lower bound", Shape(8, 2, size),
           Thinned(epsilons, size.every_nth), [&](double epsilon) {
             EvaluationSetting setting = Asked(kGnmax, 2, epsilon, Tokens(1024, size));
             setting.gnmax_lower_bound = true;
             return setting;
           });
  study.reading +=
      "GNMax's perplexity is that of its exact law; the paper prints a lower bound of it, which "
      "stands beside it for k = 8. Our axis ends where a ledger does, below 8,192 nats. ";
  AddPrivateModels({2, 8, 32}, /*by_epsilon=*/true, size, study);
  return study;
}

// (epsilon, 1e-5) of differential privacy as nats at an order: the paper's order, 3, where that
// leaves more than a tenth of epsilon (from 6 on), else the least whole order that leaves half of
// epsilon.
struct PmixedBudget {
  double order = 3;
  double nats = 0;
};
PmixedBudget PmixedBudgetFor(double epsilon) {
  const auto nats = [epsilon](double order) {
    return accounting::RdpForEpsilon(RenyiOrder::Create(order).value(), {epsilon, 1e-5},
                                     accounting::ConversionKind::kImproved)
        .value();
  };
  PmixedBudget budget = {3, nats(3)};
  if (budget.nats > epsilon / 10) return budget;
  while (budget.nats < epsilon / 2) budget = {budget.order + 1, nats(budget.order + 1)};
  return budget;
}

const Contender kPmixed = {"PMixED", "pmixed", ChargeAccounting::kPublished};

EvaluationSetting AskedLikePmixed(const Contender& contender, double epsilon, double tokens) {
  const PmixedBudget budget = PmixedBudgetFor(epsilon);
  EvaluationSetting setting = Asked(contender, budget.order, budget.nats, tokens);
  if (contender.mechanism == kPmixed.mechanism) setting.mechanism.sampling_probability = 0.03;
  return setting;
}

// PMixED behind the screen, and without it: what the screen lets pass costs the published share.
EvaluationSetting ScreenedPmixed(double epsilon, double tokens) {
  EvaluationSetting setting = AskedLikePmixed(kPmixed, epsilon, tokens);
  setting.mechanism.name = "adapmixed";
  setting.mechanism.target_leakage = setting.epsilon / tokens;
  // Beside the answers there is the screen's own, much smaller, cost.
  setting.epsilon *= 1.1;
  return setting;
}

// The data-dependent charge of a token is not known beforehand: the budget is ample, and the
// table shows what was spent.
EvaluationSetting AdaPmixed(double tokens, double beta,
                            const Contender& contender = {"AdaPMixED", "adapmixed"}) {
  EvaluationSetting setting = Asked(contender, 18, 1e3, tokens);
  setting.mechanism.ball_radius = beta * 18;
  return setting;
}

// DP-SGD at (8, 1e-5), by as many passes as there are at most; returns its curve's name.
std::string AddPrivateModel(std::optional<double> x, const StudySize& size,
                            PerplexityStudy& study) {
  if (size.private_epochs.empty()) return "";
  const int epochs = size.private_epochs.back();
  const std::string curve = "DP-SGD, E = " + std::to_string(epochs) + ", epsilon 8";
  const PmixedBudget budget = PmixedBudgetFor(8);
  study.private_trainings.push_back({curve, x, epochs, budget.order, budget.nats});
  return curve;
}

// N = 80, p = .03, delta 1e-5, 1,024 tokens, 32 runs.
PerplexityStudy PmixedMain(const StudySize& size) {
  const EnsembleShape shape = Shape(80, 1, size);
  PerplexityStudy study = NewStudy("PMixED: N = 80, p = 0.03, delta = 1e-5, 1,024 answers",
                                   "epsilon at delta = 1e-5", shape, /*runs=*/32, size);
  study.figure.log_x = false;
  study.plots_spread = true;
  const double tokens = Tokens(1024, size);
  const std::vector<double> epsilons = Thinned({2, 4, 6, 8, 10}, size.every_nth);
  const Contender worst_case = {"PMixED, worst-case charges (sound)", "pmixed",
                                ChargeAccounting::kWorstCase};
  for (const Contender& contender : {kPmixed, worst_case, kFiltered, kDclip}) {
    AddCurve(study, contender.name, shape, epsilons,
             [&](double epsilon) { return AskedLikePmixed(contender, epsilon, tokens); });
  }
  study.paper = {{"WikiText-103, public model", 40.86, "public model"},
                 {"WikiText-103, fine-tuned", 27.25, "fine-tuned on all text"},
                 {"PMixED, epsilon 2", 39.47, "PMixED", 2},
                 {"PMixED, epsilon 4", 38.33, "PMixED", 4},
                 {"PMixED, epsilon 6", 35.02, "PMixED", 6},
                 {"PMixED, epsilon 8", 33.97, "PMixED", 8},
                 {"PMixED, epsilon 10", 33.70, "PMixED", 10},
                 {"DP-SGD, epsilon 8", 35.09, AddPrivateModel(8, size, study)}};
  study.reading +=
      "At delta 1e-5 the paper's order, 3, leaves next to nothing of epsilon 2 and 4: those points "
      "are at the least order that leaves half, 10 and 6.";
  return study;
}

// The same ensemble at 1,024 and at 99,840 tokens.
PerplexityStudy AdapmixedMain(const StudySize& size) {
  const EnsembleShape shape = Shape(80, 1, size);
  PerplexityStudy study =
      NewStudy("AdaPMixED at 1,024 and 99,840 answers, N = 80", "answers", shape, /*runs=*/1, size);
  study.most_runs = 4;
  const auto add = [&](const std::string& name,
                       const std::function<EvaluationSetting(double)>& asked) {
    AddCurve(study, name, shape, QueriesOf({1024, 99840}, size), asked);
  };
  add("PMixED, epsilon 8", [](double b) { return AskedLikePmixed(kPmixed, 8, b); });
  add("PMixED with screening", [](double b) { return ScreenedPmixed(8, b); });
  add("AdaPMixED", [](double b) { return AdaPmixed(b, 0.2); });
  for (const Contender& contender : {kFiltered, kDclip}) {
    add(contender.name + ", epsilon 8", [&](double b) { return AskedLikePmixed(contender, 8, b); });
  }
  study.paper = {{"WikiText-103, public model", 40.86, "public model"},
                 {"PMixED, epsilon 8, 1,024 answers", 33.8, "PMixED, epsilon 8", 1024},
                 {"PMixED with screening, 1,024 answers (epsilon 5.958)", 35.24,
                  "PMixED with screening", 1024},
                 {"AdaPMixED, 1,024 answers (epsilon 0.494)", 32.35, "AdaPMixED", 1024},
                 {"AdaPMixED, 99,840 answers (epsilon 5.248)", 29.99, "AdaPMixED", 99840},
                 {"DP-SGD, 1,024 answers", 35.09, ""},
                 {"DP-SGD, 99,840 answers", 32.53, AddPrivateModel({}, size, study)}};
  study.reading +=
      "AdaPMixED's N, ball and screen are the authors' program's (order 18, beta 0.2, threshold "
      "4.5, noise 0.01); its cost is computed from the data and is itself private.";
  return study;
}

// What data-dependent charges and the screen each bring.
PerplexityStudy AdapmixedAblation(const StudySize& size) {
  const EnsembleShape shape = Shape(80, 1, size);
  PerplexityStudy study = NewStudy("AdaPMixED's parts: charges from the data, the screen",
                                   "epsilon spent, nats at order 18", shape, /*runs=*/2, size);
  study.x_is_spent = true;
  const double tokens = Tokens(2560, size);
  const std::vector<double> betas = Thinned({0.05, 0.1, 0.2, 0.3}, size.every_nth);
  AddCurve(study, "AdaPMixED", shape, betas, [&](double beta) { return AdaPmixed(tokens, beta); });
  const Contender without_screen = {"", "pmixed", ChargeAccounting::kLeaveOneOut};
  AddCurve(study, "without the screen", shape, betas,
           [&](double beta) { return AdaPmixed(tokens, beta, without_screen); });
  study.paper = {{"PMixED (epsilon 4.399)", 38.07, ""},
                 {"PMixED with screening (epsilon 4.139)", 38.15, ""},
                 {"AdaPMixED without the screen (epsilon 0.960)", 31.42, "without the screen", 0.2},
                 {"AdaPMixED (epsilon 0.924)", 31.75, "AdaPMixED", 0.2}};
  return study;
}

// Perplexity over the epsilon of a window of T tokens, ten mixing weights with the uniform pmf.
PerplexityStudy DpDecodingFigure2(const StudySize& size) {
  PerplexityStudy study = NewStudy("DP decoding, Figure 2", "epsilon of a window (pure)", {1, 1},
                                   /*runs=*/24, size);
  study.figure.log_x = false;
  study.figure.log_y = true;
  const auto add = [&](const std::string& name, double tokens, const std::string& guarantee) {
    StudyCurve<EnsembleSetting>& curve = study.curves.emplace_back();
    curve.name = name;
    for (const double weight :
         Thinned({0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99}, size.every_nth)) {
      const double nats = DpDecodingTokenNats(weight, size.vocab_size);
      const double budgeted = Tokens(512, size);
      EvaluationSetting asked = Asked({"", "dp-decoding"}, 2, nats * 1.0001 * budgeted, budgeted);
      asked.mechanism.order = RenyiOrder::Infinity();
      curve.points.push_back({tokens * nats, {{1, 1}, asked, {}, guarantee}});
    }
  };
  add("mean T, as the paper prints it", size.mean_text_tokens,
      "unit: part; NOT proven: a mean over texts bounds what no single text costs");
  add("most T, a guarantee for every window", size.most_text_tokens, "");
  study.reading =
      "The paper masks 15 % of a sentence's tokens (4.75 on average) and fills them in with a "
      "masked model; ours predicts every token of a window of the model's context from left to "
      "right, so T is the whole window, and a longer text pays for each of its windows. Averaging "
      "T is no guarantee for any of them: the second curve is. The mechanism mixes "
      "with the uniform pmf, needs no ensemble, and its cost does not depend on data.";
  return study;
}

// A point for each number of parts and promise, each a curve of its own.
PerplexityStudy KeptImprovement(const StudySize& size) {
  const std::vector<int> ensembles = {4, 8, 16, 32, 64};
  PerplexityStudy study = NewStudy("Share of the non-private improvement kept, epsilon = 2",
                                   "parts k", Shape(32, 1, size), /*runs=*/5, size);
  study.most_runs = 20;
  study.plots_kept = true;
  study.figure.y_label = "share of the improvement kept";
  const auto add = [&](const std::string& name, int k, const EnsembleSetting& setting) {
    const std::string asked = ", B = " + std::to_string(setting.asked.tokens);
    study.curves.push_back({name + asked, {{static_cast<double>(k), setting}}});
  };
  const auto add_parts = [&](const std::string& name, double tokens,
                             const std::vector<int>& sizes) {
    for (const int k : sizes) {
      if (k > size.most_parts) continue;
      add(name + ", k = " + std::to_string(k), k, {{k, 1}, Asked({"", name}, 2, 2, tokens)});
    }
  };
  const auto add_users = [&](const std::string& name, double tokens,
                             const mechanism::UserPromise& promise, const std::string& order) {
    for (const int k : ensembles) {
      if (k > size.most_parts) continue;
      EvaluationSetting asked = Asked({"", name}, 2, promise.epsilon, tokens);
      asked.mechanism.num_parts = k;
      const auto kept =
          KeepUserPromise(asked.mechanism, asked.tokens, promise, mechanism::MakeAnyMechanism);
      if (!kept.ok()) continue;
      asked.mechanism = kept->mechanism;
      asked.epsilon = kept->epsilon;
      add(name + ", users, order " + order + ", k = " + std::to_string(k), k,
          {{k, 1}, asked, StatedPromise{"user", order, promise.epsilon}});
    }
  };
  for (const double unscaled : {1024, 10240}) {
    const double tokens = Tokens(unscaled, size);
    for (const char* name : {"filtered-submix", "dclip", "filtered-dclip", "screened"}) {
      add_parts(name, tokens, ensembles);
    }
    // For comparison, at two sizes: noise that no k makes small, and research.
    for (const char* name : {"pmixed", "sample-and-aggregate", "gnmax", "dp-decoding"}) {
      add_parts(name, tokens, {8, 64});
    }
    add("submix", 8, {Shape(8, 2, size), Asked({"", "submix"}, 2, 2, tokens)});
    for (const char* name : {"filtered-submix", "dclip"}) {
      add_users(name, tokens, {2, RenyiOrder::Create(2).value(), 0}, "2");
      add_users(name, tokens, {2, RenyiOrder::Create(8).value(), 0}, "8");
      add_users(name, tokens, {8, RenyiOrder::Create(2).value(), 1e-5}, "delta=1e-05");
    }
  }
  study.reading =
      "Non-private: one model on all private text, by the recipe without privacy below. The SubMix "
      "paper keeps 10.6 of 17.5, .61, at B = 1,024 with k = 8 pairs, by charges that hold for its "
      "data alone.";
  study.paper = {{"SubMix, k = 8, B = 1,024: kept .61 of the improvement; perplexity", 26.9,
                  "submix, B = " + NumberText(Tokens(1024, size), 17), 8}};
  return study;
}

using Maker = std::function<PerplexityStudy(const StudySize&)>;

Maker Of(const SubmixFigure& figure) {
  return [figure](const StudySize& size) { return SubmixStudy(figure, size); };
}

const std::vector<std::pair<std::string, Maker>> kStudies = {
    {"submix-fig2",
     Of({.title = "SubMix, Figure 2: epsilon = 2, order 2, k = 8",
         .contenders = {kSubmix, kSampleAndAggregate, kGnmax, kFiltered, kDclip},
         .x = {&Question::tokens, {16, 64, 256, 512, 1024, 2560, 5120, 10240}},
         .private_epsilons = {2},
         .paper = {kPublicModel, kFineTuned, {"SubMix at B = 1,024", 26.9, "SubMix", 1024}},
         .reading =
             "S&A and GNMax stay above the public model at every B, as in the paper. SubMix's "
             "charge is computed from this ensemble (research); the sound curves hold for every "
             "data set."})},
    {"submix-fig3", Of({.title = "SubMix, Figure 3: order 2, k = 8",
                        .series = {&Question::tokens, {1024, 2560, 10240}, "B = "},
                        .private_epsilons = {2, 8, 32},
                        .paper = {kPublicModel,
                                  kFineTuned,
                                  {"SubMix, epsilon 2, B = 1,024", 26.9, "SubMix, B = 1024", 2}}})},
    {"submix-fig4",
     Of({.title = "SubMix, Figure 4: order 2, k = 8",
         .x = {&Question::tokens, {512, 1024, 2560, 5120, 10240}},
         .series = {&Question::epsilon, {2, 8, 32}, "epsilon = "},
         .private_epsilons = {2, 8, 32},
         .paper = {{"SubMix, epsilon 2, B = 1,024", 26.9, "SubMix, epsilon = 2", 1024}}})},
    // Each ensemble is trained on its own partition.
    {"submix-fig5", Of({.title = "SubMix, Figure 5: order 2, B = 1,024",
                        .contenders = {kSubmix, kDclip},
                        .series = {&Question::parts, {2, 4, 8, 16, 32, 64}, "k = "},
                        .reading = "The paper finds k = 16 best."})},
    {"submix-fig7", SubmixFigure7},
    {"submix-fig8", Of({.title = "SubMix, Figure 8: k = 8, B = 2,560",
                        .x = {&Question::epsilon, {0.5, 2, 8, 32, 128, 256}},
                        .series = {&Question::order, {2, 4, 8, 16}, "order "},
                        .question = {.tokens = 2560},
                        .reading = "The paper sees SubMix decline above order 4."})},
    {"pmixed-main", PmixedMain},
    {"adapmixed-main", AdapmixedMain},
    {"adapmixed-ablation", AdapmixedAblation},
    {"dp-decoding-fig2", DpDecodingFigure2},
    {"kept-improvement", KeptImprovement}};

}  // namespace

std::vector<std::string> PerplexityStudyNames() {
  std::vector<std::string> names;
  for (const auto& [name, make] : kStudies) names.push_back(name);
  return names;
}

base::StatusOr<PerplexityStudy> MakePerplexityStudy(const std::string& name,
                                                    const StudySize& size) {
  for (const auto& [candidate, make] : kStudies) {
    if (candidate != name) continue;
    PerplexityStudy study = make(size);
    study.figure.name = name;
    return study;
  }
  return UnknownFigure(name, PerplexityStudyNames());
}

}  // namespace submix::eval
