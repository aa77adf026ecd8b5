#include "submix/contexts/context_ensemble.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "submix/base/check.h"
#include "submix/base/file_system.h"
#include "submix/corpus/partition.h"
#include "submix/corpus/record_encoder.h"
#include "submix/ensemble/ensemble_directory.h"

namespace submix::contexts {

using base::Status;
using base::StatusOr;
namespace {

Status NoRecords(const std::string& ensemble_directory) {
  return base::NotFoundError(ensemble_directory +
                             ": no member reads a record of this user: check the key, unless the "
                             "user was held out");
}

// Public keys promise a user what holds of one part: that is the user's alone, and the only one.
Status CheckOneUserAPart(const std::vector<std::vector<ContextRecord>>& members, int halves,
                         const std::string& ensemble_directory) {
  std::map<std::size_t, std::string> users;
  std::map<std::string, std::size_t> parts;
  for (std::size_t m = 0; m < members.size(); ++m) {
    const std::size_t part = m / static_cast<std::size_t>(halves);
    for (const ContextRecord& record : members[m]) {
      if (users.try_emplace(part, record.user).first->second == record.user &&
          parts.try_emplace(record.user, part).first->second == part) {
        continue;
      }
      return base::FailedPreconditionError(
          ensemble_directory + ": part " + std::to_string(part) +
          " holds records of two users, or of another part's, and public_keys promises one a part; "
          "restore the ensemble from its backup, or make it again");
    }
  }
  return base::OkStatus();
}

struct TemplateTexts {
  std::string before, space, after;
};

// A space before the record is of the record's first word, as byte pairs have it.
TemplateTexts SplitTemplate(const std::string& record_template) {
  const std::size_t at = record_template.find(ensemble::kRecordPlace);
  if (at == std::string::npos) return {};
  TemplateTexts texts = {record_template.substr(0, at), "",
                         record_template.substr(at + ensemble::kRecordPlace.size())};
  if (texts.before.ends_with(' ')) {
    texts.before.pop_back();
    texts.space = " ";
  }
  return texts;
}

// What a member reads of a record, without its frame: a conversation in its template's turns.
StatusOr<Tokens> TokensOf(const ContextRecord& record, const ensemble::Contexts& contexts,
                          const corpus::RecordEncoder& encoder) {
  const tokenizer::Tokenizer& tokenizer = encoder.tokenizer();
  if (record.messages.empty() && !record.prompt_bytes) {
    return tokenizer.Encode(SplitTemplate(contexts.record_template).space + record.text);
  }
  SUBMIX_ASSIGN_OR_RETURN(corpus::EncodedRecord encoded, encoder.Encode(record));
  // The frame has it.
  const Tokens prefix = tokenizer.prefix();
  const bool has_prefix = std::ranges::mismatch(prefix, encoded.tokens).in1 == prefix.end();
  if (has_prefix)
    encoded.tokens.erase(encoded.tokens.begin(), encoded.tokens.begin() + std::ssize(prefix));
  return std::move(encoded.tokens);
}

// The member whose old files an interrupted forgetting has taken away. None: all are there.
std::optional<std::size_t> InterruptedMember(const ensemble::Manifest& manifest,
                                             const std::string& ensemble_directory) {
  for (std::size_t m = 0; m < manifest.members.size(); ++m) {
    if (!base::FileExists(ensemble::MemberPath(ensemble_directory, manifest.members[m]))) return m;
  }
  return std::nullopt;
}

// The member, of parts dealt by rank, that reads records with this mark, or read them until they
// were forgotten. None: no member.
StatusOr<std::optional<std::size_t>> ReaderOf(const std::string& mark,
                                              const ensemble::Manifest& manifest,
                                              const std::string& ensemble_directory) {
  // Each forgetting is a generation of its own, the first one the second.
  const auto forgotten = std::ranges::find(manifest.forgotten, mark) - manifest.forgotten.begin();
  for (std::size_t m = 0; m < manifest.members.size(); ++m) {
    const ensemble::MemberEntry& member = manifest.members[m];
    if (member.generation == forgotten + 2) return std::optional(m);
    const std::string path = ensemble::MemberPath(ensemble_directory, member);
    if (!base::FileExists(path)) continue;
    SUBMIX_ASSIGN_OR_RETURN(const auto records, LoadRecords(path));
    if (std::ranges::find(records, mark, &ContextRecord::user) != records.end()) {
      return std::optional(m);
    }
  }
  return InterruptedMember(manifest, ensemble_directory);
}

// The member that reads the user's records, or would. Errors: kNotFound for whom none reads, such
// as who is held out.
StatusOr<std::size_t> MemberOf(const std::string& user, const base::HashKey& key,
                               const ensemble::Manifest& manifest,
                               const std::string& ensemble_directory) {
  const corpus::Placement place = corpus::PlaceUser(
      key, user, {manifest.num_parts, manifest.halves, manifest.heldout_fraction});
  if (place.is_heldout) return NoRecords(ensemble_directory);
  if (!manifest.has_public_keys()) {
    return static_cast<std::size_t>(place.part.index * manifest.halves + place.half);
  }
  SUBMIX_ASSIGN_OR_RETURN(const auto reader,
                          ReaderOf(corpus::ForgottenMark(key, user), manifest, ensemble_directory));
  if (!reader.has_value()) return NoRecords(ensemble_directory);
  return *reader;
}

}  // namespace

Status SaveContextEnsemble(const std::vector<std::vector<ContextRecord>>& members,
                           ensemble::Manifest manifest, const std::string& ensemble_directory) {
  SUBMIX_CHECK(members.size() == manifest.members.size(), "the manifest's members");
  SUBMIX_CHECK(manifest.contexts.has_value(), "members by context");
  for (std::size_t m = 0; m < members.size(); ++m) {
    ensemble::MemberEntry& entry = manifest.members[m];
    if (!manifest.contexts->has_adapters) entry.steps = std::ssize(members[m]);
    entry.complete = true;
    SUBMIX_RETURN_IF_ERROR(
        SaveRecords(members[m], ensemble::MemberPath(ensemble_directory, entry)));
  }
  SUBMIX_RETURN_IF_ERROR(ensemble::HashFiles(manifest, ensemble_directory));
  return ensemble::SaveManifest(manifest, ensemble_directory);
}

StatusOr<RecordFrame> FrameOf(const ensemble::Contexts& contexts,
                              const tokenizer::Tokenizer& tokenizer) {
  RecordFrame frame;
  frame.end_of_text = tokenizer.end_of_text();
  if (contexts.record_template.empty()) {
    (tokenizer.prefix().empty() ? frame.first : frame.before) = tokenizer.document_start();
    frame.after = {frame.end_of_text};
  } else {
    const TemplateTexts texts = SplitTemplate(contexts.record_template);
    frame.first = tokenizer.document_start();
    SUBMIX_ASSIGN_OR_RETURN(frame.before, tokenizer.Encode(texts.before));
    SUBMIX_ASSIGN_OR_RETURN(frame.after, tokenizer.Encode(texts.after));
  }
  if (frame.size() < static_cast<std::size_t>(contexts.tokens)) return frame;
  return base::InvalidArgumentError(
      "what stands around a record takes " + std::to_string(frame.size()) +
      " tokens, and --context-tokens " + std::to_string(contexts.tokens) +
      " leave it none; take more, or a shorter --template");
}

Status CheckRecords(const corpus::CorpusFile& file, const ensemble::Contexts& contexts,
                    const corpus::RecordEncoder& encoder) {
  return corpus::ReadUserRecords(file, [&](const corpus::UserRecord& record) {
    return TokensOf(record, contexts, encoder).status();
  });
}

StatusOr<MemberContexts> LoadContexts(const ensemble::Manifest& manifest,
                                      const std::string& ensemble_directory,
                                      const tokenizer::Tokenizer& tokenizer) {
  SUBMIX_CHECK(manifest.contexts.has_value(), "members by context");
  SUBMIX_ASSIGN_OR_RETURN(RecordFrame frame, FrameOf(*manifest.contexts, tokenizer));
  const corpus::RecordEncoder encoder(tokenizer, ensemble::PublicDirectory(ensemble_directory),
                                      corpus::Loss::kAll);
  std::vector<std::vector<ContextRecord>> records;
  for (const ensemble::MemberEntry& entry : manifest.members) {
    SUBMIX_ASSIGN_OR_RETURN(records.emplace_back(),
                            LoadRecords(ensemble::MemberPath(ensemble_directory, entry)));
  }
  if (manifest.has_public_keys()) {
    SUBMIX_RETURN_IF_ERROR(CheckOneUserAPart(records, manifest.halves, ensemble_directory));
  }
  std::vector<std::vector<Tokens>> members;
  for (const std::vector<ContextRecord>& own : records) {
    std::vector<Tokens>& encoded = members.emplace_back();
    for (const ContextRecord& record : own) {
      SUBMIX_ASSIGN_OR_RETURN(encoded.emplace_back(),
                              TokensOf(record, *manifest.contexts, encoder));
    }
  }
  return MemberContexts(*manifest.contexts, std::move(frame), std::move(members));
}

StatusOr<ensemble::ForgetResult> ForgetRecords(const std::string& ensemble_directory,
                                               const std::string& user) {
  SUBMIX_ASSIGN_OR_RETURN(const auto lock, ensemble::LockEnsemble(ensemble_directory));
  SUBMIX_ASSIGN_OR_RETURN(ensemble::Manifest manifest, ensemble::LoadManifest(ensemble_directory));
  SUBMIX_CHECK(manifest.contexts.has_value() && !manifest.contexts->has_adapters,
               "members that only read");
  SUBMIX_ASSIGN_OR_RETURN(const auto key,
                          corpus::LoadPartitionKey(ensemble::PartitionKeyPath(ensemble_directory)));
  SUBMIX_ASSIGN_OR_RETURN(const std::size_t index,
                          MemberOf(user, key, manifest, ensemble_directory));
  ensemble::MemberEntry& member = manifest.members[index];
  const std::string mark = corpus::ForgottenMark(key, user);
  if (std::ranges::find(manifest.forgotten, mark) != manifest.forgotten.end()) {
    return ensemble::ForgetResult{member.directory, manifest.generation, member.is_public_model()};
  }

  const auto interrupted = InterruptedMember(manifest, ensemble_directory);
  if (interrupted.has_value() && interrupted != index) {
    return base::FailedPreconditionError(
        ensemble_directory +
        ": the forgetting of another user was interrupted; forget that user first");
  }
  const std::string old_path = ensemble::MemberPath(ensemble_directory, member);
  ensemble::BeginGeneration(index, manifest);
  const std::string new_path = ensemble::MemberPath(ensemble_directory, member);
  SUBMIX_ASSIGN_OR_RETURN(const auto remaining, RecordsWithoutUser(mark, old_path, new_path));
  if (!remaining.had_user) return NoRecords(ensemble_directory);
  member.steps = std::ssize(remaining.records);
  SUBMIX_RETURN_IF_ERROR(SaveRecords(remaining.records, new_path));
  manifest.forgotten.push_back(mark);
  if (manifest.users.has_value()) --*manifest.users;
  // The old records go before the new manifest stands, so that there is never one beside them.
  SUBMIX_RETURN_IF_ERROR(base::RemoveAll(old_path));
  SUBMIX_RETURN_IF_ERROR(ensemble::HashFiles(manifest, ensemble_directory));
  SUBMIX_RETURN_IF_ERROR(ensemble::SaveManifest(manifest, ensemble_directory));
  return ensemble::ForgetResult{member.directory, manifest.generation, member.is_public_model()};
}

}  // namespace submix::contexts
