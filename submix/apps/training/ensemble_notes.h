// What the operator is told of an ensemble that is made.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "submix/base/status.h"
#include "submix/corpus/user_records.h"

namespace submix::apps {

// What is about to be made.
struct NewEnsemble {
  corpus::CorpusFile corpus;
  std::string directory;
  std::string public_directory;
};

// One line, if users of this corpus have lost something already: to deployments of the ensembles
// beside this one, to those given, or to models trained privately beside it. None of a deployment
// that another of these counts in, nor of the model that the new ensemble stands on, whose cost it
// carries.
base::Status SayWhatAddsUp(const NewEnsemble& made, const std::vector<std::string>& deployments,
                           std::FILE* out);

// Lines for one user who has most of the text, and for keys that differ in Unicode form alone.
// `names_cap`: the command has --tokens-per-user, and it was not given. None for a pipe, which is
// read once.
base::Status SayWhatStandsOut(const corpus::CorpusFile& corpus, bool names_cap, std::FILE* out);

// How many members got no text depends on who is in the corpus: it is said here and nowhere else.
base::Status PrintMembersWithoutText(const std::string& ensemble_directory);

}  // namespace submix::apps
