// The manifest of an ensemble directory: what it is made of, bit for bit. Format:
// docs/manifest_format.md. JSON types stay in the .cc.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "submix/base/digest.h"
#include "submix/base/status.h"

namespace submix::ensemble {

// One member.
struct MemberEntry {
  std::string directory;   // "members/00a"; pairs are a and b, lone members have no letter
  int generation = 0;      // the generation that trained it
  std::int64_t steps = 0;  // optimiser steps done; by context without adapters: records
  bool complete = false;
  // Over everything the member is a function of: base, options, seed and its text. Private; lets an
  // equal member be copied instead of trained anew. Empty: unknown, equal to none.
  std::string recipe_sha256;

  // Nothing was trained or is read: the member got no text, and adds nothing to the public model.
  // Private.
  bool is_public_model() const { return complete && steps == 0; }
};

// Models that run outside Submix, and what tells them from others.
struct ExternalModels {
  std::string sha256;              // 64 hex digits, as the operator states them
  int vocabulary = 0;              // numbers in a row of logits
  std::string public_sha256 = {};  // of the public model's weights alone; empty: not stated

  bool operator==(const ExternalModels&) const = default;
};

// Which of its part's records a member by context reads before a query.
enum class Retrieval {
  kNone,  // the same for all queries
  kBm25,  // those that match the query best
};
std::string RetrievalName(Retrieval retrieval);  // "none", "bm25"
// Errors: kInvalidArgument for another name.
base::StatusOr<Retrieval> ParseRetrieval(const std::string& name);

// What stands for the record in a template.
inline constexpr std::string_view kRecordPlace = "{record}";
// Errors: kInvalidArgument unless `text` holds it once.
base::Status CheckRecordTemplate(std::string_view text);

// Members that read records of their parts: the public model, or with adapters each its own.
struct Contexts {
  static constexpr int kLeastTokens = 16;
  static constexpr int kMostTokens = 1 << 20;

  int tokens = 0;  // that each reads, whatever its records are
  Retrieval retrieval = Retrieval::kNone;
  bool has_adapters = false;  // members are trained, too
  // The list of users is public, and each part is one of them (docs/privacy.md, Public keys).
  bool public_keys = false;
  // Public text around every record, which stands for its "{record}". Empty: a record is a text of
  // its own.
  std::string record_template = {};

  bool operator==(const Contexts&) const = default;
};

struct DeploymentEntry {
  std::string name;     // informative: the directory's name
  std::string lineage;  // id of the ledger it charges
  std::string mechanism;
  double epsilon = 0;  // nats at `order`, per part
  double order = 0;    // infinity allowed
  // Where it was made or last relocated to, absolute. Empty: an older program's.
  std::string directory = {};
};

struct Manifest {
  static constexpr int kFormat = 5;

  int generation = 1;
  std::string parent_sha256;  // fingerprint of the generation before; empty for the first
  std::string partition_key_id;
  int num_parts = 0;
  int halves = 1;
  double heldout_fraction = 0;
  std::map<std::string, std::string> hyper_parameters;  // public options of the training
  std::vector<MemberEntry> members;                     // [num_members()]; external: none
  // The models are not in this directory; `public` holds the tokenizer at most.
  std::optional<ExternalModels> external;
  std::optional<Contexts> contexts;
  std::vector<DeploymentEntry> deployments;
  // Whose text the members read, for the operator alone; none: an older program's.
  std::optional<std::int64_t> users;
  // Keyed hashes (16 hex digits) of forgotten user keys, so that no later training reads them
  // again.
  std::vector<std::string> forgotten;
  std::map<std::string, std::string> file_sha256;  // relative path → hex, of public/ and members/

  int num_members() const { return num_parts * halves; }
  bool has_public_keys() const { return contexts.has_value() && contexts->public_keys; }
};

// "members/00a": part 0, half 0 of 2; "members/00" if halves == 1. Three digits from 100 parts on.
// A member trained in a later generation has it in its name: "members/00a-g2".
std::string MemberDirectory(int part, int half, int num_parts, int halves, int generation = 1);

// Moves the manifest to its next generation, which names the one before and in which member `index`
// has a new directory.
void BeginGeneration(std::size_t index, Manifest& manifest);

// What forgetting a user came to.
struct ForgetResult {
  std::string member;  // directory of the new member; empty if the user was held out
  int generation = 0;  // the ensemble's, after it
  // No text is left for the member, which is the public model from now on. Private.
  bool is_public_model = false;
};

// Errors: kNotFound; kInvalidArgument (not JSON, fields missing, out of range); kFailedPrecondition
// for a newer format.
base::StatusOr<Manifest> LoadManifest(const std::string& ensemble_directory);
// Atomic and durable. Errors: kInvalidArgument for what LoadManifest would refuse;
// kResourceExhausted, kInternal.
base::Status SaveManifest(const Manifest& manifest, const std::string& ensemble_directory);

// SHA-256 over what decides the ensemble's answers and the meaning of its parts: generation,
// partition key id, k, halves, external models, contexts and file hashes. Not over `deployments`.
base::Sha256Digest EnsembleFingerprint(const Manifest& manifest);

// Hashes every file under public/ and members/ as listed. Errors: kFailedPrecondition naming the
// first file that is missing, changed or not listed. Reads all of it: seconds for large models.
base::Status VerifyFiles(const Manifest& manifest, const std::string& ensemble_directory);
// Fills file_sha256 from disk. Errors: kNotFound if there are no files; kFailedPrecondition for
// anything but files and directories.
base::Status HashFiles(Manifest& manifest, const std::string& ensemble_directory);

}  // namespace submix::ensemble
