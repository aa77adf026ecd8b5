#include "submix/eval/figures/paper_figures.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "submix/accounting/rdp_conversion.h"
#include "submix/eval/figures/decoding_examples.h"
#include "submix/eval/figures/kept_improvement.h"

namespace submix::eval {
namespace {

using base::StatusOr;
using divergence::RenyiOrder;
using mechanism::ChargeAccounting;

constexpr char kWhatDiffers[] =
    "The paper's model is GPT-2 on WikiText-103 and BigPatent-G, ours is the public model and the "
    "corpora named below; levels and slopes compare, absolute perplexities do not. ";

// At most this many digits, no exponent for what people count.
std::string Short(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value >= 1e6 ? "%.1e" : "%.6g", value);
  return text;
}

// A line of a figure: a mechanism and how its charges are counted.
struct Contender {
  const char* name;
  const char* mechanism;
  ChargeAccounting accounting = ChargeAccounting::kDefault;
};
constexpr Contender kPapers[] = {
    {"SubMix", "submix"},
    {"S&A", "sample-and-aggregate", ChargeAccounting::kPublished},
    {"GNMax", "gnmax", ChargeAccounting::kPublished},
};
constexpr Contender kSound[] = {
    {"filtered-submix (sound)", "filtered-submix"},
    {"dclip (sound)", "dclip"},
};

EvaluationSetting AskedOf(const Contender& contender, double order, double epsilon,
                          std::int64_t queries) {
  EvaluationSetting setting = Asked(contender.mechanism, order, epsilon, queries);
  setting.mechanism.accounting = contender.accounting;
  return setting;
}

const std::vector<double> kEpsilons = {0.5, 1, 2, 4, 8, 16, 32, 64, 128};
const std::vector<double> kQueries = {512, 1024, 2560, 5120, 10240};

Experiment SubmixFigure(const CurveMaker& make, const char* title, const char* x_label) {
  Experiment experiment;
  experiment.title = title;
  experiment.x_label = x_label;
  experiment.reference = make.Shape(8, 2);
  experiment.runs = make.Runs(4);
  experiment.reading = kWhatDiffers;
  return experiment;
}

// DP-SGD at what an ensemble's whole budget would cost; `x`: of a point, none for levels.
void AddPrivateModels(const CurveMaker& make, const std::vector<double>& epsilons, bool by_epsilon,
                      Experiment& experiment) {
  for (const int epochs : make.PrivateEpochs()) {
    for (const double epsilon : make.Values(epsilons)) {
      PrivateTraining asked = {"DP-SGD, E = " + std::to_string(epochs), {}, epochs, 2, epsilon};
      if (by_epsilon) {
        asked.x = epsilon;
      } else {
        asked.curve += ", epsilon = " + Short(epsilon);
      }
      experiment.private_trainings.push_back(std::move(asked));
    }
  }
  experiment.reading +=
      make.PrivateEpochs().empty()
          ? "The paper's DP-SGD curves are left out (--dp-sgd-epochs). "
          : "DP-SGD protects a user, added or removed, whatever is asked; SubMix a part, for B "
            "answers. ";
}

// Perplexity over B at epsilon 2, order 2.
Experiment SubmixFigure2(const CurveMaker& make, const ExperimentSize&) {
  Experiment experiment =
      SubmixFigure(make, "SubMix, Figure 2: epsilon = 2, order 2, k = 8", "answers B");
  const EnsembleShape shape = make.Shape(8, 2);
  const auto add = [&](const Contender& contender) {
    experiment.curves.push_back(
        make.OverQueries({16, 64, 256, 512, 1024, 2560, 5120, 10240}, contender.name, shape,
                         [&](std::int64_t b) { return AskedOf(contender, 2, 2, b); }));
  };
  for (const Contender& contender : kPapers) add(contender);
  for (const Contender& contender : kSound) add(contender);
  AddPrivateModels(make, {2}, /*by_epsilon=*/false, experiment);
  experiment.paper = {{"public model", 37.5, "public model"},
                      {"fine-tuned without privacy", 20.0, "fine-tuned on all text"},
                      {"SubMix at B = 1,024", 26.9, "SubMix", 1024}};
  experiment.reading +=
      "S&A and GNMax stay above the public model at every B, as in the paper. SubMix's charge is "
      "computed from this ensemble (research); the sound curves "
      "hold for every data set.";
  return experiment;
}

// Perplexity over epsilon for three B.
Experiment SubmixFigure3(const CurveMaker& make, const ExperimentSize&) {
  Experiment experiment =
      SubmixFigure(make, "SubMix, Figure 3: order 2, k = 8", "epsilon, nats at order 2");
  for (const Contender& contender : {kPapers[0], kSound[0], kSound[1]}) {
    for (const std::int64_t b : {1024, 2560, 10240}) {
      experiment.curves.push_back(make.Over(
          kEpsilons, std::string(contender.name) + ", B = " + std::to_string(b), make.Shape(8, 2),
          [&](double epsilon) { return AskedOf(contender, 2, epsilon, make.Queries(b)); }));
    }
  }
  AddPrivateModels(make, {2, 8, 32}, /*by_epsilon=*/true, experiment);
  experiment.paper = {{"public model", 37.5, "public model"},
                      {"fine-tuned without privacy", 20.0, "fine-tuned on all text"},
                      {"SubMix, epsilon 2, B = 1,024", 26.9, "SubMix, B = 1024", 2}};
  return experiment;
}

// Perplexity over B for several epsilon.
Experiment SubmixFigure4(const CurveMaker& make, const ExperimentSize&) {
  Experiment experiment = SubmixFigure(make, "SubMix, Figure 4: order 2, k = 8", "answers B");
  for (const Contender& contender : {kPapers[0], kSound[0], kSound[1]}) {
    for (const double epsilon : {2.0, 8.0, 32.0}) {
      experiment.curves.push_back(make.OverQueries(
          kQueries, std::string(contender.name) + ", epsilon = " + Short(epsilon), make.Shape(8, 2),
          [&](std::int64_t b) { return AskedOf(contender, 2, epsilon, b); }));
    }
  }
  AddPrivateModels(make, {2, 8, 32}, /*by_epsilon=*/false, experiment);
  experiment.paper = {{"SubMix, epsilon 2, B = 1,024", 26.9, "SubMix, epsilon = 2", 1024}};
  return experiment;
}

// Perplexity over epsilon for several k, each ensemble trained on its own partition.
Experiment SubmixFigure5(const CurveMaker& make, const ExperimentSize&) {
  Experiment experiment =
      SubmixFigure(make, "SubMix, Figure 5: order 2, B = 1,024", "epsilon, nats at order 2");
  for (const Contender& contender : {kPapers[0], kSound[1]}) {
    for (const int k : {2, 4, 8, 16, 32, 64}) {
      if (!make.Has(k)) continue;
      experiment.curves.push_back(make.Over(
          kEpsilons, std::string(contender.name) + ", k = " + std::to_string(k), make.Shape(k, 2),
          [&](double epsilon) { return AskedOf(contender, 2, epsilon, make.Queries(1024)); }));
    }
  }
  experiment.reading += "The paper finds k = 16 best.";
  return experiment;
}

// General mechanisms with their noise swept; the cost is what their accounting says was spent.
Experiment SubmixFigure7(const CurveMaker& make, const ExperimentSize&) {
  Experiment experiment = SubmixFigure(make, "SubMix, Figure 7: S&A and GNMax, B = 1,024",
                                       "epsilon spent, nats at order 2");
  experiment.x_is_spent = true;
  experiment.log_y = true;
  const std::vector<double> epsilons = {1, 1e1, 1e2, 1e3, 8e3};
  for (const Contender& contender : {kPapers[1], kPapers[2]}) {
    for (const int k : {4, 8, 16, 32, 64}) {
      if (!make.Has(k)) continue;
      experiment.curves.push_back(make.Over(
          epsilons, std::string(contender.name) + ", k = " + std::to_string(k), make.Shape(k, 2),
          [&](double epsilon) { return AskedOf(contender, 2, epsilon, make.Queries(1024)); }));
    }
  }
  experiment.curves.push_back(make.Over(
      epsilons, "GNMax, k = 8, the paper's lower bound", make.Shape(8, 2), [&](double epsilon) {
        EvaluationSetting setting = AskedOf(kPapers[2], 2, epsilon, make.Queries(1024));
        setting.gnmax_lower_bound = true;
        return setting;
      }));
  experiment.reading +=
      "GNMax's perplexity is that of its exact law; the paper prints a lower bound of it, which "
      "stands beside it for k = 8. Our axis ends where a ledger does, below 8,192 nats. ";
  AddPrivateModels(make, {2, 8, 32}, /*by_epsilon=*/true, experiment);
  return experiment;
}

// Perplexity over epsilon for several orders.
Experiment SubmixFigure8(const CurveMaker& make, const ExperimentSize&) {
  Experiment experiment =
      SubmixFigure(make, "SubMix, Figure 8: k = 8, B = 2,560", "epsilon, nats at the order");
  for (const Contender& contender : {kPapers[0], kSound[0], kSound[1]}) {
    for (const double order : {2.0, 4.0, 8.0, 16.0}) {
      experiment.curves.push_back(make.Over(
          {0.5, 2, 8, 32, 128, 256}, std::string(contender.name) + ", order " + Short(order),
          make.Shape(8, 2),
          [&](double epsilon) { return AskedOf(contender, order, epsilon, make.Queries(2560)); }));
    }
  }
  experiment.reading += "The paper sees SubMix decline above order 4.";
  return experiment;
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

EvaluationSetting AskedLikePmixed(const Contender& contender, double epsilon,
                                  std::int64_t queries) {
  const PmixedBudget budget = PmixedBudgetFor(epsilon);
  return AskedOf(contender, budget.order, budget.nats, queries);
}

EvaluationSetting Pmixed(double epsilon, std::int64_t queries, ChargeAccounting accounting) {
  EvaluationSetting setting = AskedLikePmixed({"PMixED", "pmixed", accounting}, epsilon, queries);
  setting.mechanism.sampling_probability = 0.03;
  return setting;
}

// The data-dependent charge of an answer is not known beforehand: the budget is ample, and the
// table shows what was spent.
EvaluationSetting AdaPmixed(double order, std::int64_t queries, double ball_radius) {
  EvaluationSetting setting = Asked("adapmixed", order, 1e3, queries);
  setting.mechanism.ball_radius = ball_radius;
  return setting;
}

Experiment PmixedTable(const CurveMaker& make, const char* title) {
  Experiment experiment;
  experiment.title = title;
  experiment.reference = make.Shape(80, 1);
  experiment.reading = kWhatDiffers;
  return experiment;
}

// DP-SGD at (8, 1e-5), by as many passes as there are at most; returns its curve's name.
std::string AddPrivateModel(const CurveMaker& make, std::optional<double> x,
                            Experiment& experiment) {
  if (make.PrivateEpochs().empty()) return "";
  const int epochs = make.PrivateEpochs().back();
  const std::string curve = "DP-SGD, E = " + std::to_string(epochs) + ", epsilon 8";
  const PmixedBudget budget = PmixedBudgetFor(8);
  experiment.private_trainings.push_back({curve, x, epochs, budget.order, budget.nats});
  return curve;
}

// N = 80, p = .03, delta 1e-5, 1,024 answers, 32 runs.
Experiment PmixedMain(const CurveMaker& make, const ExperimentSize&) {
  Experiment experiment =
      PmixedTable(make, "PMixED: N = 80, p = 0.03, delta = 1e-5, 1,024 answers");
  experiment.x_label = "epsilon at delta = 1e-5";
  experiment.draws_spread = true;
  experiment.runs = make.Runs(32);
  const EnsembleShape shape = make.Shape(80, 1);
  const std::int64_t queries = make.Queries(1024);
  const std::vector<double> epsilons = {2, 4, 6, 8, 10};
  experiment.curves.push_back(make.Over(epsilons, "PMixED", shape, [&](double epsilon) {
    return Pmixed(epsilon, queries, ChargeAccounting::kPublished);
  }));
  experiment.curves.push_back(make.Over(
      epsilons, "PMixED, worst-case charges (sound)", shape,
      [&](double epsilon) { return Pmixed(epsilon, queries, ChargeAccounting::kWorstCase); }));
  for (const Contender& contender : kSound) {
    experiment.curves.push_back(make.Over(epsilons, contender.name, shape, [&](double epsilon) {
      return AskedLikePmixed(contender, epsilon, queries);
    }));
  }
  experiment.paper = {{"WikiText-103, public model", 40.86, "public model"},
                      {"WikiText-103, fine-tuned", 27.25, "fine-tuned on all text"},
                      {"PMixED, epsilon 2", 39.47, "PMixED", 2},
                      {"PMixED, epsilon 4", 38.33, "PMixED", 4},
                      {"PMixED, epsilon 6", 35.02, "PMixED", 6},
                      {"PMixED, epsilon 8", 33.97, "PMixED", 8},
                      {"PMixED, epsilon 10", 33.70, "PMixED", 10},
                      {"DP-SGD, epsilon 8", 35.09, AddPrivateModel(make, 8, experiment)}};
  experiment.log_x = false;
  experiment.reading +=
      "At delta 1e-5 the paper's order, 3, leaves next to nothing of epsilon 2 and 4: those points "
      "are at the least order that leaves half, 10 and 6.";
  return experiment;
}

// PMixED behind the screen, and without it: what the screen lets pass costs the published share.
EvaluationSetting ScreenedPmixed(double epsilon, std::int64_t queries) {
  EvaluationSetting setting = Pmixed(epsilon, queries, ChargeAccounting::kPublished);
  setting.mechanism.name = "adapmixed";
  setting.mechanism.target_leakage = setting.epsilon / static_cast<double>(queries);
  // Beside the answers there is the screen's own, much smaller, cost.
  setting.epsilon *= 1.1;
  return setting;
}

// The same ensemble at 1,024 and at 99,840 answers.
Experiment AdapmixedMain(const CurveMaker& make, const ExperimentSize&) {
  Experiment experiment = PmixedTable(make, "AdaPMixED at 1,024 and 99,840 answers, N = 80");
  experiment.x_label = "answers";
  experiment.runs = make.Runs(1);
  experiment.most_runs = 4;
  const EnsembleShape shape = make.Shape(80, 1);
  const std::vector<double> queries = {1024, 99840};
  experiment.curves.push_back(
      make.OverQueries(queries, "PMixED, epsilon 8", shape,
                       [&](std::int64_t b) { return Pmixed(8, b, ChargeAccounting::kPublished); }));
  experiment.curves.push_back(
      make.OverQueries(queries, "PMixED with screening", shape,
                       [&](std::int64_t b) { return ScreenedPmixed(8, b); }));
  experiment.curves.push_back(make.OverQueries(
      queries, "AdaPMixED", shape, [&](std::int64_t b) { return AdaPmixed(18, b, 0.2 * 18); }));
  for (const Contender& contender : kSound) {
    experiment.curves.push_back(
        make.OverQueries(queries, std::string(contender.name) + ", epsilon 8", shape,
                         [&](std::int64_t b) { return AskedLikePmixed(contender, 8, b); }));
  }
  experiment.paper = {{"WikiText-103, public model", 40.86, "public model"},
                      {"PMixED, epsilon 8, 1,024 answers", 33.8, "PMixED, epsilon 8", 1024},
                      {"PMixED with screening, 1,024 answers (epsilon 5.958)", 35.24,
                       "PMixED with screening", 1024},
                      {"AdaPMixED, 1,024 answers (epsilon 0.494)", 32.35, "AdaPMixED", 1024},
                      {"AdaPMixED, 99,840 answers (epsilon 5.248)", 29.99, "AdaPMixED", 99840},
                      {"DP-SGD, 1,024 answers", 35.09, ""},
                      {"DP-SGD, 99,840 answers", 32.53, AddPrivateModel(make, {}, experiment)}};
  experiment.reading +=
      "AdaPMixED's N, ball and screen are the authors' program's (order 18, beta 0.2, threshold "
      "4.5, noise 0.01); its cost is computed from the data and is itself private.";
  return experiment;
}

// What data-dependent charges and the screen each bring.
Experiment AdapmixedAblation(const CurveMaker& make, const ExperimentSize&) {
  Experiment experiment = PmixedTable(make, "AdaPMixED's parts: charges from the data, the screen");
  experiment.x_label = "epsilon spent, nats at order 18";
  experiment.x_is_spent = true;
  experiment.runs = make.Runs(2);
  const EnsembleShape shape = make.Shape(80, 1);
  const std::int64_t queries = make.Queries(2560);
  const std::vector<double> betas = {0.05, 0.1, 0.2, 0.3};
  experiment.curves.push_back(make.Over(
      betas, "AdaPMixED", shape, [&](double beta) { return AdaPmixed(18, queries, beta * 18); }));
  experiment.curves.push_back(make.Over(betas, "without the screen", shape, [&](double beta) {
    EvaluationSetting setting = Asked("pmixed", 18, 1e3, queries);
    setting.mechanism.accounting = ChargeAccounting::kLeaveOneOut;
    setting.mechanism.ball_radius = beta * 18;
    return setting;
  }));
  experiment.paper = {
      {"PMixED (epsilon 4.399)", 38.07, ""},
      {"PMixED with screening (epsilon 4.139)", 38.15, ""},
      {"AdaPMixED without the screen (epsilon 0.960)", 31.42, "without the screen", 0.2},
      {"AdaPMixED (epsilon 0.924)", 31.75, "AdaPMixED", 0.2}};
  return experiment;
}

// Perplexity over the epsilon of a window of T tokens, ten mixing weights with the uniform pmf.
Experiment DpDecodingFigure2(const CurveMaker& make, const ExperimentSize& size) {
  Experiment experiment;
  experiment.title = "DP decoding, Figure 2";
  experiment.x_label = "epsilon of a window (pure)";
  experiment.log_x = false;
  experiment.log_y = true;
  experiment.reference = {1, 1};
  experiment.runs = make.Runs(24);
  const auto curve = [&](const char* name, double tokens, const char* guarantee) {
    ExperimentCurve made;
    made.name = name;
    made.guarantee = guarantee;
    made.ensemble = {1, 1};
    for (const double weight : make.Values({0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99})) {
      const double nats = DpDecodingTokenNats(weight, size.vocab_size);
      const std::int64_t queries = make.Queries(512);
      EvaluationSetting setting =
          Asked("dp-decoding", 2, nats * 1.0001 * static_cast<double>(queries), queries);
      setting.mechanism.order = RenyiOrder::Infinity();
      made.points.push_back({tokens * nats, setting, {}});
    }
    return made;
  };
  experiment.curves = {
      curve("mean T, as the paper prints it", size.mean_text_tokens,
            "unit: part; NOT proven: a mean over texts bounds what no single text costs"),
      curve("most T, a guarantee for every window", size.most_text_tokens, "")};
  experiment.reading =
      "The paper masks 15 % of a sentence's tokens (4.75 on average) and fills them in with a "
      "masked model; ours predicts every token of a window of the model's context from left to "
      "right, so T is the whole window, and a longer text pays for each of its windows. Averaging "
      "T is no guarantee for any of them: the second curve is. The mechanism mixes "
      "with the uniform pmf, needs no ensemble, and its cost does not depend on data.";
  return experiment;
}

using Maker = Experiment (*)(const CurveMaker&, const ExperimentSize&);
const std::vector<std::pair<std::string, Maker>>& Makers() {
  static const std::vector<std::pair<std::string, Maker>> makers = {
      {"submix-fig2", SubmixFigure2},
      {"submix-fig3", SubmixFigure3},
      {"submix-fig4", SubmixFigure4},
      {"submix-fig5", SubmixFigure5},
      {"submix-fig7", SubmixFigure7},
      {"submix-fig8", SubmixFigure8},
      {"pmixed-main", PmixedMain},
      {"adapmixed-main", AdapmixedMain},
      {"adapmixed-ablation", AdapmixedAblation},
      {"dp-decoding-fig2", DpDecodingFigure2},
      {"kept-improvement",
       [](const CurveMaker& make, const ExperimentSize&) { return MakeKeptImprovement(make); }}};
  return makers;
}

}  // namespace

const std::vector<std::string>& ExperimentNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const auto& [name, maker] : Makers()) list.push_back(name);
    return list;
  }();
  return names;
}

StatusOr<Experiment> MakeExperiment(const std::string& name, const ExperimentSize& size) {
  std::string known;
  for (const auto& [candidate, maker] : Makers()) {
    known += (known.empty() ? "" : ", ") + candidate;
    if (candidate != name) continue;
    Experiment experiment = maker(CurveMaker(size), size);
    experiment.name = name;
    return experiment;
  }
  return base::NotFoundError("there is no figure \"" + name + "\"; known: " + known);
}

}  // namespace submix::eval
