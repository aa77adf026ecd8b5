#include "submix/eval/figures/experiment_page.h"

#include "submix/eval/pages/html_page.h"

namespace submix::eval {
namespace {

std::string PaperTable(const Experiment& experiment, const ExperimentResult& result) {
  if (experiment.paper.empty()) return "";
  HtmlTable table({"what", "paper", "ours"});
  for (const PaperNumber& number : experiment.paper) {
    table.Row().Cell(number.what).Cell(number.value);
    if (const auto ours = OursFor(number, result)) {
      table.Cell(*ours);
    } else {
      table.Cell(std::string("not measured here"));
    }
  }
  return HtmlHeading("The paper's numbers beside ours") + table.Html();
}

std::string LevelTable(const ExperimentResult& result) {
  HtmlTable table({"model", "perplexity", "mean over blocks"});
  for (const auto& [name, perplexity] : LevelsOf(result.levels)) {
    table.Row().Cell(name).Cell(perplexity.corpus()).Cell(perplexity.block_mean());
  }
  return HtmlHeading("Without a mechanism") + table.Html();
}

std::string PrivateModelTable(const ExperimentResult& result) {
  if (result.private_models.empty()) return "";
  HtmlTable table({"curve", "order", "epsilon", "spent", "as (epsilon, delta)", "perplexity",
                   "mean over blocks", "accuracy", "what is promised"});
  for (const PrivateModelRow& row : result.private_models) {
    table.Row()
        .Cell(row.asked.curve)
        .Cell(row.asked.order)
        .Cell(row.asked.epsilon)
        .Cell(row.trained.epsilon_spent)
        .Cell("(" + ShortNumber(row.trained.promise.epsilon) + ", " +
              ShortNumber(row.trained.promise.delta) + ")")
        .Cell(row.perplexity.corpus())
        .Cell(row.perplexity.block_mean())
        .Cell(row.perplexity.accuracy())
        .Cell(row.trained.guarantee);
  }
  return HtmlHeading("Models trained with differential privacy") + table.Html();
}

std::string RowTable(const ExperimentResult& result) {
  HtmlTable table({"curve", "order", "epsilon", "answers", "runs", "perplexity", "spread over runs",
                   "mean over blocks", "spent at most", "kept", "what is promised"});
  for (const ExperimentRow& row : result.rows) {
    const EvaluationSetting& setting = row.result.setting;
    const PerplexityRuns& perplexity = row.result.perplexity;
    table.Row()
        .Cell(row.curve)
        .Cell(setting.mechanism.order.ToString())
        .Cell(setting.epsilon)
        .Cell(static_cast<double>(setting.queries))
        .Cell(static_cast<double>(perplexity.runs.size()))
        .Cell(perplexity.corpus())
        .Cell(perplexity.deviation())
        .Cell(perplexity.block_mean())
        .Cell(row.result.epsilon_spent_max)
        .Cell(row.kept.value)
        .Cell(row.guarantee);
  }
  return HtmlHeading("Every point") + table.Html();
}

std::string PrivacyLossTable(const ExperimentResult& result) {
  HtmlTable table({"curve", "answers", "order", "the answers' charges", "the screen's",
                   "conversion", "epsilon", "delta"});
  bool is_empty = true;
  for (const ExperimentRow& row : result.rows) {
    if (!row.loss) continue;
    is_empty = false;
    table.Row()
        .Cell(row.curve)
        .Cell(static_cast<double>(row.result.setting.queries))
        .Cell(row.result.setting.mechanism.order.ToString())
        .Cell(row.loss->answers)
        .Cell(row.loss->screen)
        .Cell(row.loss->conversion)
        .Cell(row.loss->epsilon())
        .Cell(row.loss->delta);
  }
  if (is_empty) return "";
  return HtmlHeading("What the privacy loss is made of, nats of the part that spent most") +
         table.Html();
}

}  // namespace

std::string ProvenanceTable(const Provenance& provenance) {
  HtmlTable table({"", ""});
  for (const auto& [name, value] : provenance) table.Row().Cell(name).Cell(value);
  return HtmlHeading("How it was made") + table.Html();
}

std::string ExperimentPage(const Experiment& experiment, const ExperimentResult& result,
                           const std::string& svg, const Provenance& provenance,
                           const std::string& appendix) {
  return HtmlPage(
      experiment.title,
      HtmlFigure(svg) + HtmlParagraph(experiment.reading) +
          HtmlParagraph("The operator's view, outside every budget: publishing these "
                        "numbers, or choosing options by them, is a release of its own. "
                        "“Kept” is the share of what non-private fine-tuning gains, in "
                        "perplexity.") +
          PaperTable(experiment, result) + LevelTable(result) + PrivateModelTable(result) +
          RowTable(result) + PrivacyLossTable(result) + appendix + ProvenanceTable(provenance));
}

}  // namespace submix::eval
