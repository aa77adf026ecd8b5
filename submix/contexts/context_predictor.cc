#include "submix/contexts/context_predictor.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "submix/base/check.h"
#include "submix/ensemble/predictor_checks.h"

namespace submix::contexts {
namespace {

using base::Status;
using base::StatusOr;
using base::TokenId;
using ensemble::SequenceId;

// Logits that Score holds: 512 MiB, or of one position.
constexpr std::size_t kMostScored = std::size_t{1} << 27;

int RoundedUp(int tokens, int granule) { return (tokens + granule - 1) / granule * granule; }

class ContextPredictor final : public ensemble::Predictor {
 public:
  ContextPredictor(std::unique_ptr<decode::CpuPredictor> model, MemberContexts contexts,
                   std::vector<bool> is_trained)
      : model_(std::move(model)),
        contexts_(std::move(contexts)),
        is_trained_(std::move(is_trained)),
        context_tokens_(RoundedUp(contexts_.most_tokens(), model_->prefix_granule())) {}

  int num_members() const override { return contexts_.num_members(); }
  int vocab_size() const override { return model_->vocab_size(); }
  int context_length() const override { return model_->context_length() - context_tokens_; }
  Status Recover() override { return model_->Recover(); }
  void ForEach(int count, const std::function<void(int)>& body) override {
    model_->ForEach(count, body);
  }

  // Fixed contexts, once for all sequences.
  Status ReadContexts() {
    if (contexts_.reads_query()) return base::OkStatus();
    for (int member = 0; member < num_members(); ++member) {
      fixed_.push_back(OpenMember(member, contexts_.Of(member, {}), {}));
      const Append append = {fixed_.back().sequence, fixed_.back().tokens, /*predicts=*/false};
      SUBMIX_RETURN_IF_ERROR(model_->Step(std::span(&append, 1), {}));
    }
    return base::OkStatus();
  }

  SequenceId Open() override {
    Sequence& opened = sequences_[++last_sequence_];
    if (contexts_.reads_query()) return last_sequence_;
    opened.rows.push_back(model_->Open());
    for (const OpenedMember& member : fixed_) {
      opened.rows.push_back(model_->OpenPrefix(member.sequence, context_tokens_));
    }
    return last_sequence_;
  }

  void Close(SequenceId sequence) override {
    const auto found = sequences_.find(sequence);
    if (found == sequences_.end()) return;
    for (const SequenceId row : found->second.rows) model_->Close(row);
    sequences_.erase(found);
  }

  // What a query is read for is all of it.
  int prefix_granule() const override {
    return contexts_.reads_query() ? 0 : model_->prefix_granule();
  }
  SequenceId OpenPrefix(SequenceId other, int tokens) override {
    Sequence& opened = sequences_[++last_sequence_];
    opened.length = tokens;
    const std::vector<SequenceId>& rows = sequences_.at(other).rows;
    opened.rows.push_back(model_->OpenPrefix(rows.front(), tokens));
    for (std::size_t row = 1; row < rows.size(); ++row) {
      opened.rows.push_back(model_->OpenPrefix(rows[row], context_tokens_ + tokens));
    }
    return last_sequence_;
  }

  Status Step(std::span<const Append> appends, std::span<float> logits) override {
    SUBMIX_RETURN_IF_ERROR(
        ensemble::CheckAppends(*this, appends, logits.size(), [this](SequenceId sequence) {
          const auto found = sequences_.find(sequence);
          return found == sequences_.end() ? -1 : std::int64_t{found->second.length};
        }));
    std::vector<Append> rows;
    std::vector<std::vector<Tokens>> first(appends.size());  // what rows begin with
    for (std::size_t i = 0; i < appends.size(); ++i) AddRows(appends[i], first[i], rows);
    if (!rows.empty()) SUBMIX_RETURN_IF_ERROR(model_->Step(rows, logits));
    for (const Append& append : appends) {
      sequences_.at(append.sequence).length += static_cast<int>(append.tokens.size());
    }
    for (std::size_t begin = 0; begin < logits.size(); begin += num_rows() * vocab()) {
      PutPublicRow(logits.subspan(begin, num_rows() * vocab()));
    }
    return base::OkStatus();
  }

  Status Score(std::span<const TokenId> tokens, std::size_t first,
               const PositionSink& sink) override {
    SUBMIX_RETURN_IF_ERROR(ensemble::CheckDocument(*this, tokens, first));
    const std::size_t at_a_time = std::max<std::size_t>(1, kMostScored / (num_rows() * vocab()));
    std::vector<float> logits;
    for (std::size_t begin = first; begin < tokens.size(); begin += at_a_time) {
      const std::size_t end = std::min(tokens.size(), begin + at_a_time);
      logits.resize((end - begin) * num_rows() * vocab());
      for (int row = 0; row <= num_members(); ++row) {
        SUBMIX_RETURN_IF_ERROR(ScoreRow(row, tokens.first(end), first, begin, logits));
      }
      for (std::size_t t = begin; t < end; ++t) {
        const auto position =
            std::span(logits).subspan((t - begin) * num_rows() * vocab(), num_rows() * vocab());
        PutPublicRow(position);
        SUBMIX_RETURN_IF_ERROR(sink(t, position));
      }
    }
    return base::OkStatus();
  }

 private:
  struct Sequence {
    int length = 0;
    std::vector<SequenceId> rows;  // [M + 1] of the model; none yet: the query is to come
    Tokens query;                  // until then
  };
  struct OpenedMember {
    SequenceId sequence = 0;
    Tokens tokens;  // to append, hidden ones first
  };

  std::size_t num_rows() const { return static_cast<std::size_t>(num_members()) + 1; }
  std::size_t vocab() const { return static_cast<std::size_t>(vocab_size()); }

  // The model's row that computes a member.
  int ModelRow(int member) const { return is_trained_.empty() ? 0 : 1 + member; }
  bool IsPublicModel(int member) const {
    const bool is_trained = !is_trained_.empty() && is_trained_[static_cast<std::size_t>(member)];
    return !is_trained && contexts_.is_empty(member);
  }

  // To append: the context, then the query.
  OpenedMember OpenMember(int member, const Tokens& read, std::span<const TokenId> query) {
    const int hidden = context_tokens_ - static_cast<int>(read.size());
    OpenedMember opened;
    opened.sequence = model_->OpenHidden(hidden, ModelRow(member));
    opened.tokens.reserve(static_cast<std::size_t>(context_tokens_) + query.size());
    opened.tokens.assign(static_cast<std::size_t>(hidden), contexts_.end_of_text());
    opened.tokens.insert(opened.tokens.end(), read.begin(), read.end());
    opened.tokens.insert(opened.tokens.end(), query.begin(), query.end());
    return opened;
  }

  // What the model's rows of a sequence append; `first` holds what they begin with.
  void AddRows(const Append& append, std::vector<Tokens>& first, std::vector<Append>& rows) {
    Sequence& sequence = sequences_.at(append.sequence);
    if (!sequence.rows.empty()) {
      for (const SequenceId row : sequence.rows) {
        rows.push_back({row, append.tokens, append.predicts});
      }
      return;
    }
    sequence.query.insert(sequence.query.end(), append.tokens.begin(), append.tokens.end());
    if (!append.predicts) return;
    sequence.rows.push_back(model_->Open());
    first.push_back(sequence.query);
    for (int member = 0; member < num_members(); ++member) {
      OpenedMember opened =
          OpenMember(member, contexts_.Of(member, sequence.query), sequence.query);
      sequence.rows.push_back(opened.sequence);
      first.push_back(std::move(opened.tokens));
    }
    sequence.query.clear();
    for (std::size_t row = 0; row < first.size(); ++row) {
      rows.push_back({sequence.rows[row], first[row]});
    }
  }

  // Logits of the tokens [begin, tokens.size()) of one row.
  Status ScoreRow(int row, std::span<const TokenId> tokens, std::size_t first, std::size_t begin,
                  std::span<float> logits) {
    Tokens document = row == 0 ? Tokens() : contexts_.Of(row - 1, tokens.first(first));
    const std::size_t read = document.size();
    document.insert(document.end(), tokens.begin(), tokens.end());
    return model_->ScoreRow(
        row == 0 ? 0 : ModelRow(row - 1), document, read + begin,
        [&](std::size_t position, std::span<const float> own) {
          const std::size_t at =
              (position - read - begin) * num_rows() + static_cast<std::size_t>(row);
          std::memcpy(logits.data() + at * vocab(), own.data(), vocab() * sizeof(float));
          return base::OkStatus();
        });
  }

  // A member that neither read nor was trained is the public model, bit for bit. Every row is
  // copied, so that it costs the same.
  void PutPublicRow(std::span<float> position) const {
    for (int member = 0; member < num_members(); ++member) {
      float* own = position.data() + static_cast<std::size_t>(member + 1) * vocab();
      const float* from = IsPublicModel(member) ? position.data() : own;
      std::memmove(own, from, vocab() * sizeof(float));
    }
  }

  const std::unique_ptr<decode::CpuPredictor> model_;
  const MemberContexts contexts_;
  const std::vector<bool> is_trained_;  // [M], or empty
  const int context_tokens_;
  std::vector<OpenedMember> fixed_;  // [M], unless contexts read the query
  SequenceId last_sequence_ = 0;
  std::map<SequenceId, Sequence> sequences_;
};

}  // namespace

StatusOr<std::unique_ptr<ensemble::Predictor>> MakeContextPredictor(
    std::unique_ptr<decode::CpuPredictor> model, MemberContexts contexts,
    std::vector<bool> is_trained) {
  SUBMIX_CHECK(model->num_separate_rows() == 1 + std::ssize(is_trained), "a row for each adapter");
  const int whole = model->context_length();
  auto predictor = std::make_unique<ContextPredictor>(std::move(model), std::move(contexts),
                                                      std::move(is_trained));
  if (predictor->context_length() < 1) {
    return base::FailedPreconditionError(
        "the contexts leave no room for a query: the model holds " + std::to_string(whole) +
        " tokens, contexts and query together; take fewer --context-tokens");
  }
  SUBMIX_RETURN_IF_ERROR(predictor->ReadContexts());
  return std::unique_ptr<ensemble::Predictor>(std::move(predictor));
}

}  // namespace submix::contexts
