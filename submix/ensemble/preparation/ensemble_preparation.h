// What is done before an ensemble's first step: the public model and its tokenizer, the partition
// key, the copy of the public files.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "submix/base/digest.h"
#include "submix/base/status.h"
#include "submix/corpus/partition.h"
#include "submix/corpus/record_encoder.h"
#include "submix/ensemble/manifest.h"
#include "submix/tokenizer/tokenizer.h"

namespace submix::ensemble {

// Copies a file or a whole directory, over what is there. Errors: kNotFound; kResourceExhausted
// when the disk is full; kDataLoss for what is neither; kInternal.
base::Status CopyFiles(const std::string& from, const std::string& to);
// The same of one file, but a large one shares its blocks where the file system lets it: a clone or
// a hard link. Then whoever writes into the one file, instead of replacing it, changes the other.
base::Status ShareFile(const std::string& from, const std::string& to);

// Shares config.json, the weights and the tokenizer's files into `to`, which is made, and
// private_training.json where there is one.
// Errors: kNotFound naming the file that is missing; those of WeightFiles::FileNames and ShareFile.
base::Status CopyPublicModel(const std::string& from, const std::string& to);
// The tokenizer's files alone.
base::Status CopyTokenizer(const std::string& from, const std::string& to);

// The key in the ensemble's directory; if there is none yet, the key of `key_path`, or a fresh one
// if that is empty, is put there. Errors: those of LoadPartitionKey and SavePartitionKey.
base::StatusOr<base::HashKey> PreparePartitionKey(const std::string& ensemble_directory,
                                                  const std::string& key_path);

// Of generation 1: members without a recipe, none complete.
Manifest NewManifest(const corpus::PartitionOptions& partition, std::string partition_key_id,
                     std::map<std::string, std::string> hyper_parameters);

// Whether a directory was begun with these options: shape, key and hyper-parameters.
bool HasSameOptions(const Manifest& found, const Manifest& wanted);

// What of conversations is predicted, as a manifest keeps it, and back. The answers alone leave no
// mark. Errors: kDataLoss.
void AddLoss(corpus::Loss loss, std::map<std::string, std::string>& hyper_parameters);
base::StatusOr<corpus::Loss> LossFrom(const std::map<std::string, std::string>& hyper_parameters);

// Errors: kFailedPrecondition if the model was itself trained on private text: one statement cannot
// say both costs; those of LoadTrainingCost.
base::Status CheckIsPublic(const std::string& public_directory);

// Errors: those of reading; kFailedPrecondition if the vocabulary does not fit the model, or
// kInvalidArgument naming file and field if what ends a text is no token of it.
base::StatusOr<std::unique_ptr<tokenizer::Tokenizer>> LoadFittingTokenizer(
    const std::string& public_directory);

}  // namespace submix::ensemble
