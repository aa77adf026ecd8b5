#include "submix/workbench/papers/federated_reproduction.h"

#include <algorithm>
#include <utility>

#include "submix/base/file_system.h"
#include "submix/eval/pages/html_page.h"

namespace submix::workbench {
namespace {

using base::StatusOr;

eval::Provenance FederatedProvenance(const FederatedRequest& request) {
  const FederatedRecipe& recipe = request.recipe;
  std::string public_text;
  for (const std::string& file : recipe.public_text) {
    public_text += (public_text.empty() ? "" : ", ") + base::BaseName(file);
  }
  return {{"size", request.is_small ? "a small version for a quick look" : "as asked for"},
          {"private text", base::BaseName(recipe.corpus)},
          {"users", eval::ShortNumber(request.size.population) + ", " +
                        std::to_string(recipe.tokens_per_user) + " words each"},
          {"held-out text", base::BaseName(recipe.heldout) + ", " +
                                std::to_string(recipe.heldout_tokens) + " words"},
          {"dictionary", "of " + public_text},
          {"start", recipe.public_words > 0
                        ? "a pass over " + std::to_string(recipe.public_words) + " public words"
                        : "random"},
          {"model", "LSTM, width " + std::to_string(recipe.shape.width) + ", " +
                        std::to_string(recipe.shape.units) + " units"},
          {"a user's training", std::to_string(recipe.local.epochs) + " epoch, batches of " +
                                    std::to_string(recipe.local.batch_size) + " times " +
                                    std::to_string(recipe.local.unroll) + ", learning rate " +
                                    eval::ShortNumber(recipe.local.learning_rate)},
          {"seed", std::to_string(recipe.seed) + "; private trainings draw from the system"}};
}

}  // namespace

StatusOr<FederatedReproduction> FederatedReproduction::Create(
    FederatedRequest request, const std::vector<std::string>& names) {
  FederatedReproduction made(std::move(request));
  if (std::ranges::any_of(names, eval::NeedsTraining)) {
    SUBMIX_ASSIGN_OR_RETURN(made.models_,
                            OpenFederatedModels(made.request_.recipe, made.request_.size.words));
    made.request_.size.population = made.models_.users;
  }
  return made;
}

StatusOr<eval::FigurePage> FederatedReproduction::Make(const std::string& name) const {
  SUBMIX_ASSIGN_OR_RETURN(eval::FigurePage page,
                          eval::MakeFederatedPage(name, request_.size, models_.source));
  if (eval::NeedsTraining(name)) {
    page.body += eval::HtmlParagraph(
        "The operator's view, outside every budget: publishing these numbers, or choosing "
        "options by them, is a release of its own. Accuracies are means of up to five "
        "evaluations.");
    page.provenance = FederatedProvenance(request_);
  }
  return page;
}

}  // namespace submix::workbench
