#include "submix/train/federated/client_updates.h"

#include <algorithm>
#include <string>

#include "submix/base/check.h"
#include "submix/train/numerics/client_threads.h"
#include "submix/train/numerics/torch_errors.h"

namespace submix::train {
namespace {

using base::TokenId;
using Users = std::vector<std::span<const TokenId>>;

// What the root sends before a round's tokens and model.
struct RoundOrder {
  bool is_last = false;  // there is no round: go
  ClientTraining training;
  UpdateClipping clipping;
};

}  // namespace

ClientUpdates::ClientUpdates(const FederatedModel& model, const ClientTraining& training,
                             const UpdateClipping& clipping, int threads, Ranks* ranks)
    : training_(training), ranks_(ranks) {
  SUBMIX_CHECK(threads >= 1, "work needs a thread");
  for (int i = 0; i < threads; ++i) {
    workers_.push_back(std::unique_ptr<Worker>(
        new Worker{LocalPass(model, training.local), ClippedSum(model.vectors(), clipping)}));
  }
}

base::Status ClientUpdates::SumShare(std::span<const float> parameters, const Users& users,
                                     const UpdateClipping& clipping, std::size_t first,
                                     std::size_t stride) {
  for (const auto& worker : workers_) worker->sum.Clear(clipping);
  const std::size_t count = users.size() > first ? (users.size() - first - 1) / stride + 1 : 0;
  SUBMIX_RETURN_IF_ERROR(RunOnClientThreads(
      static_cast<int>(workers_.size()), count, [&](ClientQueue& queue, int thread) {
        Worker& worker = *workers_[static_cast<std::size_t>(thread)];
        while (const auto next = queue.Next()) {
          const std::span<const TokenId> tokens = users[first + *next * stride];
          const double weight =
              std::min(1.0, static_cast<double>(tokens.size()) /
                                static_cast<double>(training_.full_weight_tokens));
          worker.sum.Add(worker.pass.Update(parameters, tokens, clipping), weight);
        }
        return base::OkStatus();
      }));
  for (std::size_t i = 1; i < workers_.size(); ++i) workers_[0]->sum.Add(workers_[i]->sum);
  return base::OkStatus();
}

base::StatusOr<const ClippedSum*> ClientUpdates::Sum(std::span<const float> parameters,
                                                     const Users& users,
                                                     const UpdateClipping& clipping) {
  ClippedSum& sum = workers_[0]->sum;
  if (ranks_ == nullptr) {
    SUBMIX_RETURN_IF_ERROR(SumShare(parameters, users, clipping, 0, 1));
    return &sum;
  }
  RoundOrder order = {false, training_, clipping};
  BroadcastValue(*ranks_, order);
  std::vector<std::vector<TokenId>> texts;
  for (const std::span<const TokenId> user : users) texts.emplace_back(user.begin(), user.end());
  std::vector<float> model(parameters.begin(), parameters.end());
  BroadcastTokens(*ranks_, texts);
  BroadcastVector(*ranks_, model);
  SUBMIX_RETURN_IF_ERROR(
      SumShare(parameters, users, clipping, 0, static_cast<std::size_t>(ranks_->size())));
  sum.SumToRoot(*ranks_);
  return &sum;
}

void ClientUpdates::Dismiss() {
  RoundOrder order = {true, training_, {}};
  if (ranks_ != nullptr) BroadcastValue(*ranks_, order);
}

base::Status ServeClientUpdates(Ranks& ranks, const FederatedModel& model, int threads) {
  const base::Status status = CatchTorchErrors([&] {
    std::unique_ptr<ClientUpdates> updates;
    while (true) {
      RoundOrder order;
      BroadcastValue(ranks, order);
      if (order.is_last) return base::OkStatus();
      std::vector<std::vector<TokenId>> texts;
      std::vector<float> parameters;
      BroadcastTokens(ranks, texts);
      BroadcastVector(ranks, parameters);
      if (updates == nullptr) {
        updates = std::make_unique<ClientUpdates>(model, order.training, order.clipping, threads,
                                                  /*ranks=*/nullptr);
      }
      SUBMIX_RETURN_IF_ERROR(updates->SumShare(
          parameters, Users(texts.begin(), texts.end()), order.clipping,
          static_cast<std::size_t>(ranks.rank()), static_cast<std::size_t>(ranks.size())));
      updates->workers_[0]->sum.SumToRoot(ranks);
    }
  });
  if (status.ok()) return status;
  return {status.code(), "rank " + std::to_string(ranks.rank()) + ": " + status.message()};
}

}  // namespace submix::train
