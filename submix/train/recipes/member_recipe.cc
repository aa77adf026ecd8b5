#include "submix/train/recipes/member_recipe.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "submix/base/file_system.h"
#include "submix/model/decoder_config.h"
#include "submix/model/weight_files.h"
#include "submix/train/recipes/training_options_table.h"
#include "submix/train/recipes/training_order.h"

namespace submix::train {
namespace {

using base::StatusOr;

constexpr std::uint64_t kFirstSeed = 0x5eed0000u;
constexpr char kTokensPerUser[] = "tokens_per_user";

// Reads the values of a hyper-parameter map; remembers the first that is missing or wrong.
class ParameterReader {
 public:
  explicit ParameterReader(const std::map<std::string, std::string>& parameters)
      : parameters_(parameters) {}

  std::string Text(const std::string& name) {
    const auto found = parameters_.find(name);
    if (found == parameters_.end()) {
      Fail(name);
      return "";
    }
    return found->second;
  }
  double Number(const std::string& name) {
    const std::string text = Text(name);
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0') Fail(name);
    return value;
  }
  bool Has(const std::string& name) const { return parameters_.contains(name); }

  base::Status status() const {
    if (failed_.empty()) return base::OkStatus();
    return base::DataLossError("manifest.json: the hyper-parameter " + failed_ +
                               " is missing or not a number");
  }

 private:
  void Fail(const std::string& name) {
    if (failed_.empty()) failed_ = name;
  }

  const std::map<std::string, std::string>& parameters_;
  std::string failed_;
};

template <typename T>
std::vector<T> Words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<T> words;
  for (T word; stream >> word;) words.push_back(word);
  return words;
}

}  // namespace

void AddMethod(const std::optional<model::LoraConfig>& lora,
               std::map<std::string, std::string>& parameters) {
  parameters["method"] = lora.has_value() ? "lora" : "full";
  if (!lora.has_value()) return;
  parameters["lora_rank"] = std::to_string(lora->rank);
  parameters["lora_alpha"] = ParameterText(lora->lora_alpha);
  for (const std::string& module : lora->target_modules) {
    parameters["lora_targets"] += module + " ";
  }
  for (const int layer : lora->layers) {
    parameters["lora_layers"] += std::to_string(layer) + " ";
  }
}

std::map<std::string, std::string> HyperParameters(const FineTuneOptions& options) {
  std::map<std::string, std::string> parameters;
  AddNumbers(options, parameters);
  parameters["precision"] = PrecisionName(options.precision);
  AddMethod(options.lora, parameters);
  return parameters;
}

StatusOr<FineTuneOptions> FineTuneOptionsFrom(
    const std::map<std::string, std::string>& hyper_parameters) {
  ParameterReader reader(hyper_parameters);
  FineTuneOptions options;
  SUBMIX_RETURN_IF_ERROR(ReadNumbers(hyper_parameters, options));
  options.precision = PrecisionOf(reader.Text("precision"));
  options.lora.reset();
  if (reader.Text("method") == "lora") {
    model::LoraConfig lora;
    lora.rank = static_cast<int>(reader.Number("lora_rank"));
    lora.lora_alpha = reader.Number("lora_alpha");
    lora.target_modules = Words<std::string>(reader.Text("lora_targets"));
    if (reader.Has("lora_layers")) lora.layers = Words<int>(reader.Text("lora_layers"));
    options.lora = lora;
  }
  SUBMIX_RETURN_IF_ERROR(reader.status());
  return options;
}

void AddTokensPerUser(std::int64_t tokens_per_user,
                      std::map<std::string, std::string>& parameters) {
  if (tokens_per_user > 0) parameters[kTokensPerUser] = std::to_string(tokens_per_user);
}

StatusOr<std::int64_t> TokensPerUserFrom(
    const std::map<std::string, std::string>& hyper_parameters) {
  ParameterReader reader(hyper_parameters);
  if (!reader.Has(kTokensPerUser)) return 0;
  const double tokens = reader.Number(kTokensPerUser);
  SUBMIX_RETURN_IF_ERROR(reader.status());
  if (tokens >= 1 && tokens < 0x1p53) return static_cast<std::int64_t>(tokens);
  return base::DataLossError("manifest.json: the hyper-parameter tokens_per_user is out of range");
}

void RemoveForgotten(const ensemble::Manifest& manifest, const base::HashKey& key,
                     corpus::PartitionedCorpus& corpus) {
  if (manifest.forgotten.empty()) return;
  for (auto& member : corpus.members) {
    std::erase_if(member, [&](const corpus::UserTokens& user) {
      return std::ranges::find(manifest.forgotten, corpus::ForgottenMark(key, user.user)) !=
             manifest.forgotten.end();
    });
  }
}

MemberTask MakeMemberTask(const std::string& output_directory, std::size_t member,
                          const std::vector<corpus::UserTokens>& users,
                          const FineTuneOptions& options) {
  return {output_directory, corpus::CutIntoBlocks(users, options.block_tokens),
          kFirstSeed + member};
}

std::string RecipeDigest(const MemberTask& task, const ensemble::Manifest& manifest,
                         const std::string& public_model_sha256) {
  std::string recipe = "submix member 1\n" + public_model_sha256 + "\n" + std::to_string(task.seed);
  for (const auto& [name, value] : manifest.hyper_parameters) recipe += "\n" + name + "=" + value;
  for (const auto& block : task.blocks) {
    recipe += "\n";
    recipe.append(reinterpret_cast<const char*>(block.data()),
                  block.size() * sizeof(base::TokenId));
  }
  return base::ToHex(base::Sha256(recipe));
}

StatusOr<std::string> PublicModelSha256(const std::string& public_directory) {
  SUBMIX_ASSIGN_OR_RETURN(std::vector<std::string> names,
                          model::WeightFiles::FileNames(public_directory));
  const std::string config_path = base::JoinPath(public_directory, "config.json");
  SUBMIX_ASSIGN_OR_RETURN(const auto config, model::LoadDecoderConfig(config_path));
  // A GPT-2's weights say nearly all; other families' configurations say what no weight shows.
  if (config.family != "gpt2") names.emplace_back("config.json");
  std::string digests;
  for (const std::string& name : names) {
    SUBMIX_ASSIGN_OR_RETURN(const auto digest,
                            base::Sha256OfFile(base::JoinPath(public_directory, name)));
    if (names.size() == 1) return base::ToHex(digest);
    digests += name + " " + base::ToHex(digest) + "\n";
  }
  return base::ToHex(base::Sha256(digests));
}

std::vector<std::size_t> UsableBlocks(const MemberTask& task) {
  std::vector<std::size_t> usable;
  for (std::size_t i = 0; i < task.blocks.size(); ++i) {
    if (corpus::NumCounted(task.blocks[i]) > 0) usable.push_back(i);
  }
  return usable;
}

std::int64_t PlannedSteps(const MemberTask& task, const FineTuneOptions& options) {
  const TrainingOrder order(UsableBlocks(task).size(), options.batch_size, task.seed);
  return options.epochs * order.steps_per_epoch();
}

}  // namespace submix::train
