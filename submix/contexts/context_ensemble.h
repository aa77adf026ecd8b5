// An ensemble of members by context on disk: members/…/records.jsonl, and `contexts` in the
// manifest (docs/manifest_format.md).
#pragma once

#include <string>
#include <vector>

#include "submix/base/status.h"
#include "submix/contexts/context_records.h"
#include "submix/contexts/member_contexts.h"
#include "submix/corpus/record_encoder.h"
#include "submix/ensemble/manifest.h"
#include "submix/tokenizer/tokenizer.h"

namespace submix::contexts {

// Writes the members' records into a new ensemble, hashes all its files and saves the manifest,
// whose members it completes. Requires: as many members as the manifest has; manifest.contexts; of
// members with adapters, that these and their steps are there already.
base::Status SaveContextEnsemble(const std::vector<std::vector<ContextRecord>>& members,
                                 ensemble::Manifest manifest,
                                 const std::string& ensemble_directory);

// What stands around records. Errors: kInvalidArgument where contexts.tokens leave no room for a
// token of one.
base::StatusOr<RecordFrame> FrameOf(const ensemble::Contexts& contexts,
                                    const tokenizer::Tokenizer& tokenizer);

// Whether the members can read these records. Errors: those of ReadUserRecords; of RecordEncoder,
// with file and line.
base::Status CheckRecords(const corpus::CorpusFile& file, const ensemble::Contexts& contexts,
                          const corpus::RecordEncoder& encoder);

// What the members read. Errors: those of LoadRecords and FrameOf; kFailedPrecondition where keys
// are public and a part holds records of two users, or a user is in two parts. Requires:
// manifest.contexts.
base::StatusOr<MemberContexts> LoadContexts(const ensemble::Manifest& manifest,
                                            const std::string& ensemble_directory,
                                            const tokenizer::Tokenizer& tokenizer);

// Takes a user's records out of the one member that read them, in a new generation of the ensemble:
// as if the user had never been there, but for the key, which is remembered as forgotten. A user
// who is forgotten already stays so; with public keys the part stays empty, and no other user
// moves. After a crash: call it again. Errors: those of LockEnsemble and LoadManifest; kNotFound
// for a user without records; kFailedPrecondition while the forgetting of another user is not
// finished; those of reading and writing. Requires: members that read contexts, without adapters:
// those know the user, too (train::ForgetUser).
base::StatusOr<ensemble::ForgetResult> ForgetRecords(const std::string& ensemble_directory,
                                                     const std::string& user);

}  // namespace submix::contexts
