// What the operator is told of an ensemble that is made.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "submix/base/status.h"
#include "submix/corpus/user_records.h"

namespace submix::apps {

// A line for each ensemble beside this one, and of the deployments given, that has read users of
// this corpus: whatever is deployed of both adds up.
base::Status SayWhoIsHeldAlready(const corpus::CorpusFile& corpus,
                                 const std::string& ensemble_directory,
                                 const std::vector<std::string>& deployments, std::FILE* out);

// Lines for one user who has most of the text, and for keys that differ in Unicode form alone.
// `names_cap`: the command has --tokens-per-user, and it was not given. None for a pipe, which is
// read once.
base::Status SayWhatStandsOut(const corpus::CorpusFile& corpus, bool names_cap, std::FILE* out);

// How many members got no text depends on who is in the corpus: it is said here and nowhere else.
base::Status PrintMembersWithoutText(const std::string& ensemble_directory);

}  // namespace submix::apps
