// An ensemble whose models run outside Submix: a manifest that identifies them, and the files of
// their tokenizer. `submix deploy --external` makes it.
#pragma once

#include <string>
#include <vector>

#include "submix/base/status.h"
#include "submix/ensemble/manifest.h"

namespace submix::ensemble {

// The manifest of these models. Ensembles of one `partition`, a name of the operator's, divide
// their users into the same parts. `tokenizer_files` of `tokenizer_directory` go to public/.
// Errors: kInvalidArgument for what SaveManifest would refuse; those of reading the files.
base::StatusOr<Manifest> ExternalManifest(const ExternalModels& models,
                                          const std::string& partition, int num_parts, int halves,
                                          const std::string& tokenizer_directory,
                                          const std::vector<std::string>& tokenizer_files);

// Makes the directory. Ok if it is there already, deployed or not. Errors: kAlreadyExists if
// something else is there; those of writing.
base::Status MakeExternalEnsemble(const Manifest& manifest, const std::string& tokenizer_directory,
                                  const std::string& ensemble_directory);

}  // namespace submix::ensemble
