#include "submix/ensemble/manifest.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "submix/base/check.h"
#include "submix/base/file_system.h"
#include "submix/base/json_object.h"
#include "submix/ensemble/batches.h"
#include "submix/ensemble/ensemble_directory.h"
#include "submix/model/decoder_families.h"

namespace submix::ensemble {
namespace {

using Json = nlohmann::ordered_json;
using base::JsonObject;

constexpr int kMaxParts = 1'000'000;

constexpr const char* kInfinity = "inf";  // JSON has no infinite numbers

// --- Reading: what every manifest obeys, whether it is on disk or about to be written

bool IsLowerHex(std::string_view text, std::size_t digits) {
  return text.size() == digits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

base::Status CheckSha256Hex(const JsonObject& json, std::string_view field,
                            std::string_view digits) {
  if (IsLowerHex(digits, 64)) return base::OkStatus();
  return json.FieldError(field, "expected 64 lower-case hex digits");
}

// "public/…" or "members/…", without a component that could lead elsewhere.
bool IsListablePath(std::string_view path) {
  if (!path.starts_with("public/") && !path.starts_with("members/")) return false;
  while (true) {
    const std::size_t slash = path.find('/');
    const std::string_view component = path.substr(0, slash);
    if (component.empty() || component == "." || component == "..") return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

base::Status CheckFormat(const JsonObject& json, const std::string& path) {
  SUBMIX_ASSIGN_OR_RETURN(const std::int64_t format, json.Integer("format", 1, INT64_MAX));
  return base::CheckNotNewer(path, format, Manifest::kFormat);
}

base::Status ReadLineage(const JsonObject& json, Manifest& manifest) {
  SUBMIX_ASSIGN_OR_RETURN(manifest.generation, json.Int("generation", 1, INT32_MAX));
  SUBMIX_ASSIGN_OR_RETURN(manifest.parent_sha256, json.Text("parent_sha256"));
  if (manifest.generation > 1) {
    return CheckSha256Hex(json, "parent_sha256", manifest.parent_sha256);
  }
  if (manifest.parent_sha256.empty()) return base::OkStatus();
  return json.FieldError("parent_sha256", "the first generation has no parent");
}

base::Status ReadPartition(const JsonObject& json, Manifest& manifest) {
  SUBMIX_ASSIGN_OR_RETURN(manifest.partition_key_id, json.Text("partition_key_id"));
  if (manifest.partition_key_id.empty()) {
    return json.FieldError("partition_key_id", "must not be empty");
  }
  SUBMIX_ASSIGN_OR_RETURN(manifest.num_parts, json.Int("num_parts", 1, kMaxParts));
  SUBMIX_ASSIGN_OR_RETURN(manifest.halves, json.Int("halves", 1, 2));
  SUBMIX_ASSIGN_OR_RETURN(manifest.heldout_fraction, json.Number("heldout_fraction"));
  if (manifest.heldout_fraction >= 0 && manifest.heldout_fraction < 1) return base::OkStatus();
  return json.FieldError("heldout_fraction", "expected at least 0 and less than 1");
}

base::StatusOr<ExternalModels> ReadExternal(const JsonObject& json) {
  ExternalModels external;
  SUBMIX_ASSIGN_OR_RETURN(external.sha256, json.Text("sha256"));
  SUBMIX_RETURN_IF_ERROR(CheckSha256Hex(json, "sha256", external.sha256));
  SUBMIX_ASSIGN_OR_RETURN(external.vocabulary, json.Int("vocabulary", 1, model::kMaxVocabulary));
  SUBMIX_RETURN_IF_ERROR(json.ReadIfPresent("public_sha256", external.public_sha256));
  if (!external.public_sha256.empty()) {
    SUBMIX_RETURN_IF_ERROR(CheckSha256Hex(json, "public_sha256", external.public_sha256));
  }
  return external;
}

base::StatusOr<Contexts> ReadContexts(const JsonObject& json) {
  Contexts contexts;
  SUBMIX_ASSIGN_OR_RETURN(contexts.tokens,
                          json.Int("tokens", Contexts::kLeastTokens, Contexts::kMostTokens));
  SUBMIX_ASSIGN_OR_RETURN(const std::string retrieval, json.Text("retrieval"));
  const auto parsed = ParseRetrieval(retrieval);
  if (!parsed.ok()) return json.FieldError("retrieval", parsed.status().message());
  contexts.retrieval = *parsed;
  SUBMIX_RETURN_IF_ERROR(json.ReadIfPresent("adapters", contexts.has_adapters));
  SUBMIX_RETURN_IF_ERROR(json.ReadIfPresent("public_keys", contexts.public_keys));
  if (contexts.has_adapters && contexts.public_keys) {
    return json.FieldError("public_keys", "expected none beside \"contexts.adapters\"");
  }
  SUBMIX_RETURN_IF_ERROR(json.ReadIfPresent("template", contexts.record_template));
  if (contexts.record_template.empty()) return contexts;
  const base::Status checked = CheckRecordTemplate(contexts.record_template);
  if (!checked.ok()) return json.FieldError("template", checked.message());
  return contexts;
}

base::StatusOr<MemberEntry> ReadMember(const JsonObject& json, int index,
                                       const Manifest& manifest) {
  MemberEntry member;
  SUBMIX_ASSIGN_OR_RETURN(member.generation, json.Int("generation", 1, manifest.generation));
  SUBMIX_ASSIGN_OR_RETURN(member.directory, json.Text("directory"));
  const std::string directory =
      MemberDirectory(index / manifest.halves, index % manifest.halves, manifest.num_parts,
                      manifest.halves, member.generation);
  if (member.directory != directory) {
    return json.FieldError("directory",
                           "expected " + directory + ", found " + base::Quoted(member.directory));
  }
  SUBMIX_ASSIGN_OR_RETURN(member.steps, json.Integer("steps", 0, INT64_MAX));
  SUBMIX_ASSIGN_OR_RETURN(member.complete, json.Boolean("complete"));
  SUBMIX_ASSIGN_OR_RETURN(member.recipe_sha256, json.Text("recipe_sha256"));
  if (member.recipe_sha256.empty() || IsLowerHex(member.recipe_sha256, 64)) return member;
  return json.FieldError("recipe_sha256", "expected 64 lower-case hex digits or \"\"");
}

base::Status ReadMembers(const JsonObject& json, Manifest& manifest) {
  SUBMIX_ASSIGN_OR_RETURN(const std::vector<JsonObject> members, json.Objects("members"));
  if (manifest.external.has_value()) {
    if (members.empty()) return base::OkStatus();
    return json.FieldError("members", "expected none beside \"external\"");
  }
  if (std::ssize(members) != manifest.num_members()) {
    return json.FieldError(
        "members", "expected num_parts * halves = " + std::to_string(manifest.num_members()) +
                       ", found " + std::to_string(members.size()));
  }
  for (const JsonObject& item : members) {
    const int index = static_cast<int>(manifest.members.size());
    SUBMIX_ASSIGN_OR_RETURN(manifest.members.emplace_back(), ReadMember(item, index, manifest));
  }
  return base::OkStatus();
}

base::StatusOr<double> ReadOrder(const JsonObject& json) {
  if (!json.IsText("order")) return json.Number("order");
  SUBMIX_ASSIGN_OR_RETURN(const std::string text, json.Text("order"));
  if (text != kInfinity) return json.FieldError("order", "expected a number or \"inf\"");
  return HUGE_VAL;
}

base::StatusOr<DeploymentEntry> ReadDeployment(const JsonObject& json) {
  DeploymentEntry deployment;
  SUBMIX_ASSIGN_OR_RETURN(deployment.name, json.Text("name"));
  SUBMIX_RETURN_IF_ERROR(json.ReadIfPresent("directory", deployment.directory));
  SUBMIX_ASSIGN_OR_RETURN(deployment.lineage, json.Text("lineage"));
  if (deployment.lineage.empty()) return json.FieldError("lineage", "must not be empty");
  SUBMIX_ASSIGN_OR_RETURN(deployment.mechanism, json.Text("mechanism"));
  SUBMIX_ASSIGN_OR_RETURN(deployment.epsilon, json.Number("epsilon"));
  if (!(deployment.epsilon >= 0)) return json.FieldError("epsilon", "expected 0 or more");
  SUBMIX_ASSIGN_OR_RETURN(deployment.order, ReadOrder(json));
  if (!(deployment.order >= 1)) {
    return json.FieldError("order", "expected 1 or more, or \"inf\"");
  }
  return deployment;
}

base::Status ReadHashes(const JsonObject& json, Manifest& manifest) {
  SUBMIX_ASSIGN_OR_RETURN(manifest.forgotten, json.Texts("forgotten"));
  for (const std::string& hash : manifest.forgotten) {
    if (IsLowerHex(hash, 16)) continue;
    return json.FieldError("forgotten", "expected only strings of 16 lower-case hex digits");
  }
  SUBMIX_ASSIGN_OR_RETURN(manifest.file_sha256, json.TextMap("file_sha256"));
  for (const auto& [file, sha256] : manifest.file_sha256) {
    if (!IsListablePath(file)) {
      return json.FieldError("file_sha256",
                             base::Quoted(file) + " is not a path below public/ or members/");
    }
    if (!IsLowerHex(sha256, 64)) {
      return json.FieldError("file_sha256",
                             base::Quoted(file) + ": expected 64 lower-case hex digits");
    }
  }
  return base::OkStatus();
}

base::StatusOr<Manifest> ReadManifest(const JsonObject& json) {
  Manifest manifest;
  SUBMIX_RETURN_IF_ERROR(ReadLineage(json, manifest));
  SUBMIX_RETURN_IF_ERROR(ReadPartition(json, manifest));
  SUBMIX_ASSIGN_OR_RETURN(manifest.hyper_parameters, json.TextMap("hyper_parameters"));
  SUBMIX_RETURN_IF_ERROR(json.ReadIfPresent("users", manifest.users));
  if (json.Has("external")) {
    SUBMIX_ASSIGN_OR_RETURN(const JsonObject external, json.Object("external"));
    SUBMIX_ASSIGN_OR_RETURN(manifest.external, ReadExternal(external));
  }
  if (json.Has("contexts")) {
    if (json.Has("external")) {
      return json.FieldError("contexts", "expected none beside \"external\"");
    }
    SUBMIX_ASSIGN_OR_RETURN(const JsonObject contexts, json.Object("contexts"));
    SUBMIX_ASSIGN_OR_RETURN(manifest.contexts, ReadContexts(contexts));
  }
  SUBMIX_RETURN_IF_ERROR(ReadMembers(json, manifest));
  SUBMIX_ASSIGN_OR_RETURN(const std::vector<JsonObject> deployments, json.Objects("deployments"));
  for (const JsonObject& item : deployments) {
    SUBMIX_ASSIGN_OR_RETURN(manifest.deployments.emplace_back(), ReadDeployment(item));
  }
  SUBMIX_RETURN_IF_ERROR(ReadHashes(json, manifest));
  return manifest;
}

// --- Writing

Json MemberJson(const MemberEntry& member) {
  return {{"directory", member.directory},
          {"generation", member.generation},
          {"steps", member.steps},
          {"complete", member.complete},
          {"recipe_sha256", member.recipe_sha256}};
}

Json DeploymentJson(const DeploymentEntry& deployment) {
  const Json order = deployment.order == HUGE_VAL ? Json(kInfinity) : Json(deployment.order);
  Json object = {{"name", deployment.name},
                 {"lineage", deployment.lineage},
                 {"mechanism", deployment.mechanism},
                 {"epsilon", deployment.epsilon},
                 {"order", order}};
  if (!deployment.directory.empty()) object["directory"] = deployment.directory;
  return object;
}

// What an earlier format can say is written so: older programs read it.
int FormatOf(const Manifest& manifest) {
  if (manifest.contexts.has_value()) {
    const Contexts& contexts = *manifest.contexts;
    const bool is_plain =
        !contexts.has_adapters && !contexts.public_keys && contexts.record_template.empty();
    return is_plain ? 3 : 4;
  }
  if (!manifest.external.has_value()) return 1;
  return manifest.external->public_sha256.empty() ? 2 : 5;
}

Json ExternalJson(const ExternalModels& external) {
  Json object = {{"sha256", external.sha256}, {"vocabulary", external.vocabulary}};
  if (!external.public_sha256.empty()) object["public_sha256"] = external.public_sha256;
  return object;
}

Json ContextsJson(const Contexts& contexts) {
  Json object = {{"tokens", contexts.tokens}, {"retrieval", RetrievalName(contexts.retrieval)}};
  if (contexts.has_adapters) object["adapters"] = true;
  if (contexts.public_keys) object["public_keys"] = true;
  if (!contexts.record_template.empty()) object["template"] = contexts.record_template;
  return object;
}

Json ManifestJson(const Manifest& manifest) {
  Json members = Json::array();
  for (const MemberEntry& member : manifest.members) members.push_back(MemberJson(member));
  Json deployments = Json::array();
  for (const DeploymentEntry& deployment : manifest.deployments) {
    deployments.push_back(DeploymentJson(deployment));
  }
  Json object = {{"format", FormatOf(manifest)},
                 {"generation", manifest.generation},
                 {"parent_sha256", manifest.parent_sha256},
                 {"partition_key_id", manifest.partition_key_id},
                 {"num_parts", manifest.num_parts},
                 {"halves", manifest.halves},
                 {"heldout_fraction", manifest.heldout_fraction},
                 {"hyper_parameters", Json(manifest.hyper_parameters)},
                 {"members", members},
                 {"deployments", deployments},
                 {"forgotten", Json(manifest.forgotten)},
                 {"file_sha256", Json(manifest.file_sha256)}};
  if (manifest.users.has_value()) object["users"] = *manifest.users;
  if (manifest.external.has_value()) object["external"] = ExternalJson(*manifest.external);
  if (manifest.contexts.has_value()) object["contexts"] = ContextsJson(*manifest.contexts);
  return object;
}

}  // namespace

std::string RetrievalName(Retrieval retrieval) {
  return retrieval == Retrieval::kBm25 ? "bm25" : "none";
}

base::StatusOr<Retrieval> ParseRetrieval(const std::string& name) {
  for (const Retrieval retrieval : {Retrieval::kNone, Retrieval::kBm25}) {
    if (name == RetrievalName(retrieval)) return retrieval;
  }
  return base::InvalidArgumentError("expected \"none\" or \"bm25\"");
}

base::Status CheckRecordTemplate(std::string_view text) {
  int places = 0;
  for (std::size_t at = text.find(kRecordPlace); at != std::string_view::npos;
       at = text.find(kRecordPlace, at + kRecordPlace.size())) {
    ++places;
  }
  if (places == 1) return base::OkStatus();
  return base::InvalidArgumentError("expected " + std::string(kRecordPlace) +
                                    " once, where the record goes, found it " +
                                    std::to_string(places) + " times");
}

std::string MemberDirectory(int part, int half, int num_parts, int halves, int generation) {
  SUBMIX_CHECK(0 <= part && part < num_parts, "part out of range");
  SUBMIX_CHECK((halves == 1 || halves == 2) && 0 <= half && half < halves, "half out of range");
  const std::size_t digits = std::max<std::size_t>(2, std::to_string(num_parts).size());
  const std::string number = std::to_string(part);
  std::string name = "members/" + std::string(digits - number.size(), '0') + number;
  if (halves == 2) name += half == 0 ? 'a' : 'b';
  if (generation > 1) name += "-g" + std::to_string(generation);
  return name;
}

void BeginGeneration(std::size_t index, Manifest& manifest) {
  manifest.parent_sha256 = base::ToHex(EnsembleFingerprint(manifest));
  ++manifest.generation;
  MemberEntry& member = manifest.members[index];
  const int number = static_cast<int>(index);
  member.directory = MemberDirectory(number / manifest.halves, number % manifest.halves,
                                     manifest.num_parts, manifest.halves, manifest.generation);
  member.generation = manifest.generation;
}

base::StatusOr<Manifest> LoadManifest(const std::string& ensemble_directory) {
  const std::string path = ManifestPath(ensemble_directory);
  const auto json = JsonObject::Load(path);
  if (json.status().code() == base::StatusCode::kNotFound) {
    if (!base::FileExists(ensemble_directory)) {
      return base::NotFoundError("Directory does not exist: " + ensemble_directory);
    }
    return base::NotFoundError(
        ensemble_directory +
        ": not an ensemble: it has no manifest.json; `submix train` makes one" +
        BatchesHint(ensemble_directory));
  }
  SUBMIX_RETURN_IF_ERROR(json.status());
  SUBMIX_RETURN_IF_ERROR(CheckFormat(*json, path));
  return ReadManifest(*json);
}

base::Status SaveManifest(const Manifest& manifest, const std::string& ensemble_directory) {
  const std::string path = ManifestPath(ensemble_directory);
  std::string text;
  try {
    text = ManifestJson(manifest).dump(2) + "\n";
  } catch (const Json::exception&) {
    return base::InvalidArgumentError(path + ": a name, path or template is not UTF-8");
  }
  SUBMIX_ASSIGN_OR_RETURN(const JsonObject json, JsonObject::Parse(text, path));
  SUBMIX_RETURN_IF_ERROR(ReadManifest(json).status());
  return base::WriteFile(path, text);
}

}  // namespace submix::ensemble
