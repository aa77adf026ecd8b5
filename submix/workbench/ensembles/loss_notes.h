// What the operator is told, and nobody else, of an ensemble that is made. Each is one line without
// its end, or empty where there is nothing to say.
#pragma once

#include <string>
#include <vector>

#include "submix/base/status.h"
#include "submix/corpus/user_records.h"
#include "submix/ensemble/manifest.h"

namespace submix::workbench {

// What is about to be made.
struct NewEnsemble {
  corpus::CorpusFile corpus;
  std::string directory;
  std::string public_directory;
};

// Whether users of this corpus have lost something already: to deployments of the ensembles beside
// this one, to those given, or to models trained privately beside it. None of a deployment that
// another of these counts in, nor of the model that the new ensemble stands on, whose cost it
// carries. Errors: those of reading the corpus, lists of users and deployments.
base::StatusOr<std::string> WhatAddsUp(const NewEnsemble& made,
                                       const std::vector<std::string>& deployments);

// One user who has most of the text (if `names_cap`: the command has --tokens-per-user, and it was
// not given), and keys that differ in Unicode form alone. None for a pipe, which is read once.
// Errors: those of reading the corpus.
base::StatusOr<std::vector<std::string>> WhatStandsOut(const corpus::CorpusFile& corpus, int parts,
                                                       bool names_cap);

// How many members got no text, which depends on who is in the corpus.
std::string MembersWithoutText(const ensemble::Manifest& manifest);

}  // namespace submix::workbench
