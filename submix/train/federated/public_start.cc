#include "submix/train/federated/public_start.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "submix/corpus/text_lines.h"
#include "submix/train/numerics/torch_environment.h"
#include "submix/train/numerics/torch_errors.h"

namespace submix::train {
namespace {

using base::TokenId;

// The users' learning rate is made for the mean of many users' short passes. One long stream at
// that rate runs away on its rare steep batches, the sooner the more words the dictionary has.
constexpr double kLongestGradient = 1;

// Says "enough" to ReadLines; never reaches the caller.
base::Status Enough() { return base::UnavailableError("enough words"); }

double Norm(std::span<const float> vector) {
  double squares = 0;
  for (const float x : vector) squares += static_cast<double>(x) * x;
  return std::sqrt(squares);
}

}  // namespace

base::StatusOr<std::vector<TokenId>> ReadPublicWords(std::span<const std::string> paths,
                                                     const WordVocabulary& vocabulary,
                                                     std::int64_t most_tokens) {
  std::vector<TokenId> words;
  const auto is_full = [&] { return std::ssize(words) >= most_tokens; };
  const auto end_document = [&] {
    if (!words.empty() && words.back() != WordVocabulary::kEnd) {
      words.push_back(WordVocabulary::kEnd);
    }
  };
  for (const std::string& path : paths) {
    const base::Status status =
        corpus::ReadLines(path, [&](std::int64_t, std::string_view line) -> base::Status {
          if (line == corpus::kEndOfTextLine) {
            end_document();
          } else {
            SplitIntoWords(line,
                           [&](std::string_view word) { words.push_back(vocabulary.IdOf(word)); });
          }
          return is_full() ? Enough() : base::OkStatus();
        });
    if (is_full()) break;
    SUBMIX_RETURN_IF_ERROR(status);
    end_document();
  }
  words.resize(std::min<std::size_t>(words.size(), most_tokens));
  return words;
}

base::Status TrainOnPublicWords(const FederatedModel& model, const LocalTraining& training,
                                std::span<const TokenId> words, std::span<float> parameters,
                                base::ProgressStyle style) {
  SUBMIX_RETURN_IF_ERROR(SetTorchThreads(0));
  return CatchTorchErrors([&] {
    const auto client = model.MakeClient(training.batch_size, training.unroll);
    std::vector<float> gradient(parameters.size());
    base::ProgressBar progress("public text", std::ssize(words), "words", style);
    client->Begin(words);
    while (const std::int64_t targets = client->NextBatch()) {
      client->SetParameters(parameters);
      client->Gradient(1.0f / static_cast<float>(targets), gradient);
      const auto rate = static_cast<float>(training.learning_rate *
                                           std::min(1.0, kLongestGradient / Norm(gradient)));
      for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i] -= rate * gradient[i];
      progress.Advance(targets);
    }
    model.Normalise(parameters);
    return base::OkStatus();
  });
}

}  // namespace submix::train
