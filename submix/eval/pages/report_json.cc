#include <nlohmann/json.hpp>

#include "submix/accounting/privacy_statement.h"
#include "submix/base/number_text.h"
#include "submix/engine/deployment_statement.h"
#include "submix/eval/pages/guideline_points.h"
#include "submix/eval/pages/report.h"

namespace submix::eval {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchemaVersion = 1;

Json UserJson(const engine::Deployment& deployment) {
  const auto user = GuaranteeOfUser(deployment);
  if (!user) return nullptr;
  return {{"epsilon", user->bound.epsilon},
          {"delta", user->bound.delta},
          {"unit", "all text of one user key"},
          {"neighbours", accounting::AdjacencyWords(user->adjacency)},
          {"read_aloud", ReadAloud(deployment)}};
}

Json MechanismJson(const engine::Deployment& deployment) {
  const engine::DeploymentOptions& options = deployment.config.options;
  return {{"name", options.mechanism.name},
          {"proven", deployment.mechanism->is_sound()},
          {"parts", options.mechanism.num_parts},
          {"order", options.mechanism.order.ToString()},
          {"epsilon_of_part", options.epsilon},
          {"most_per_token", options.mechanism.target_leakage},
          {"when_exhausted", engine::ToString(options.when_exhausted)}};
}

Json DeclaredJson(const DeclaredStatements& declared) {
  Json json = Json::object();
  for (const DeclaredField& field : kDeclaredFields) {
    const auto found = declared.find(field.key);
    json[std::string(field.key)] = found == declared.end() ? Json() : Json(found->second);
  }
  return json;
}

Json GuidelinesJson(const ReportedDeployment& reported) {
  Json points = Json::array();
  for (const GuidelinePoint& point : AnswerGuidelines(reported.deployment, reported.declared)) {
    points.push_back({{"point", point.id},
                      {"title", point.title},
                      {"status", ToString(point.status)},
                      {"answer", point.answer}});
  }
  return points;
}

Json NeighboursJson(const engine::Deployment& deployment) {
  Json variants = Json::array();
  for (const NeighbourVariant& variant : NeighbourVariants(deployment)) {
    variants.push_back({{"difference", variant.difference},
                        {"known_as", variant.known_as},
                        {"answer", variant.answer}});
  }
  return variants;
}

}  // namespace

std::string PublicReportJson(const ReportedDeployment& reported) {
  const engine::Deployment& deployment = reported.deployment;
  const Json json = {
      {"schema", "submix-report"},
      {"version", kSchemaVersion},
      {"name", reported.name},
      {"date", base::UtcTime(reported.date, "%Y-%m-%d")},
      {"lineage", deployment.config.lineage},
      {"has_ended", deployment.has_ended},
      {"promise", accounting::PromiseJson<Json>(engine::DeploymentPromise(deployment))},
      {"user", UserJson(deployment)},
      {"mechanism", MechanismJson(deployment)},
      {"earlier_deployments", deployment.config.earlier.lineages.size()},
      {"declared", DeclaredJson(reported.declared)},
      {"not_covered", NotCovered(deployment)},
      {"neighbours", NeighboursJson(deployment)},
      {"nist_sp_800_226", GuidelinesJson(reported)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace submix::eval
