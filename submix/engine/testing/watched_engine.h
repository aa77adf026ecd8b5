// An engine over letters for tests: a fake predictor and a ledger in memory, both watched, which
// can be held up and broken.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "submix/base/testing/seeded_random.h"
#include "submix/engine/engine_core.h"
#include "submix/ensemble/testing/fake_predictor.h"
#include "submix/ledger/memory_ledger.h"
#include "submix/mechanism/research/any_mechanism.h"

namespace submix::engine {

// One token a letter. The end of text is no letter, and so is never drawn.
class LetterTokenizer final : public tokenizer::Tokenizer {
 public:
  static constexpr int kVocabulary = 26;

  int vocab_size() const override { return kVocabulary; }
  std::size_t longest_token_bytes() const override { return 1; }
  base::TokenId end_of_text() const override { return kVocabulary; }
  base::StatusOr<std::vector<base::TokenId>> Encode(std::string_view bytes) const override {
    std::vector<base::TokenId> tokens;
    for (const char byte : bytes) {  // what is no letter becomes one
      tokens.push_back(((byte - 'a') % kVocabulary + kVocabulary) % kVocabulary);
    }
    return tokens;
  }
  std::string Decode(std::span<const base::TokenId> tokens) const override {
    std::string bytes;
    for (const base::TokenId token : tokens) bytes.push_back(static_cast<char>('a' + token));
    return bytes;
  }
};

// Thread-safe: who passes waits while it is closed.
class Gate {
 public:
  void Close() {
    const std::lock_guard guard(mutex_);
    closed_ = true;
  }
  void Open() {
    const std::lock_guard guard(mutex_);
    closed_ = false;
    changed_.notify_all();
  }
  void Pass() {
    std::unique_lock lock(mutex_);
    ++passing_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !closed_ || lets_one_pass_; });
    --passing_;
    lets_one_pass_ = false;
  }
  // While it is closed: lets one pass who waits, or comes, and returns when the next one waits.
  void LetOnePass() {
    std::unique_lock lock(mutex_);
    lets_one_pass_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !lets_one_pass_ && passing_ > 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool closed_ = false;
  bool lets_one_pass_ = false;
  int passing_ = 0;
};

// Counts what reaches the ledger; can hold it up and break it. Thread-safe.
class WatchedLedger final : public ledger::Ledger {
 public:
  WatchedLedger(int num_parts, double budget)
      : ledger_(ledger::MakeMemoryLedger(num_parts, accounting::FixedNats::RoundDown(budget))) {}

  base::StatusOr<std::vector<ledger::Receipt>> Charge(
      std::span<const ledger::ChargeRequest> step) override {
    gate.Pass();
    if (broken) return DiskFullError();
    ++transactions;
    releases += static_cast<int>(step.size());
    return ledger_->Charge(step);
  }
  base::Status Recover() override { return broken ? DiskFullError() : base::OkStatus(); }
  base::StatusOr<std::vector<ledger::Account>> Accounts() const override {
    return ledger_->Accounts();
  }
  base::StatusOr<Head> head() const override { return ledger_->head(); }
  base::Status Verify() const override { return ledger_->Verify(); }

  double SpentByPart(int part) const {
    return Accounts().value()[static_cast<std::size_t>(part)].spent.ToNatsRoundedUp();
  }

  Gate gate;
  std::atomic<bool> broken = false;
  std::atomic<int> transactions = 0;
  std::atomic<int> releases = 0;

 private:
  static base::Status DiskFullError() {
    return base::ResourceExhaustedError("/secret/path: disk full");
  }

  std::unique_ptr<ledger::Ledger> ledger_;
};

// Counts rows, and notes what each step holds and in which order sequences begin and predict. As
// thread-safe as the predictor is.
class WatchedPredictor final : public ensemble::Predictor {
 public:
  struct StepWork {
    int running = 0;        // sequences that have predicted before
    int prompts = 0;        // the others
    int prompt_tokens = 0;  // of these
  };

  WatchedPredictor(int num_members, double spread)
      : fake(num_members, LetterTokenizer::kVocabulary, spread) {}

  int num_members() const override { return fake.num_members(); }
  int vocab_size() const override { return fake.vocab_size(); }
  int context_length() const override { return fake.context_length(); }
  void ForEach(int count, const std::function<void(int)>& body) override {
    const auto run = [&body](int begin, int end) {
      for (int i = begin; i < end; ++i) body(i);
    };
    const int divided = has_threads ? count / 2 : 0;
    const std::jthread other(run, 0, divided);
    run(divided, count);
  }
  ensemble::SequenceId Open() override {
    const ensemble::SequenceId sequence = fake.Open();
    most_open = std::max(most_open, fake.open_sequences());
    return sequence;
  }
  void Close(ensemble::SequenceId sequence) override { fake.Close(sequence); }
  int prefix_granule() const override { return fake.prefix_granule(); }
  ensemble::SequenceId OpenPrefix(ensemble::SequenceId other, int tokens) override {
    return fake.OpenPrefix(other, tokens);
  }
  base::Status Recover() override {
    return away ? base::UnavailableError("/secret/socket: away") : base::OkStatus();
  }
  base::Status Step(std::span<const Append> appends, std::span<float> logits) override {
    SUBMIX_RETURN_IF_ERROR(Recover());
    StepWork& work = steps.emplace_back();
    for (const Append& append : appends) {
      const auto tokens = static_cast<int>(append.tokens.size());
      rows += tokens * (1 + num_members());
      const auto [begun, is_new] = begun_.try_emplace(append.sequence, append.tokens.front());
      if (is_new) first_tokens.push_back(append.tokens.front());
      if (predicted_.contains(append.sequence)) {
        ++work.running;
      } else {
        ++work.prompts;
        work.prompt_tokens += tokens;
        if (!append.predicts) continue;
        predicted_.insert(append.sequence);
        first_to_predict.push_back(begun->second);
      }
    }
    return fake.Step(appends, logits);
  }
  base::Status Score(std::span<const base::TokenId> tokens, std::size_t first,
                     const PositionSink& sink) override {
    return fake.Score(tokens, first, sink);
  }

  ensemble::FakePredictor fake;
  bool has_threads = false;        // of its own, for ForEach
  std::atomic<bool> away = false;  // fails until it is back
  std::int64_t rows = 0;
  std::vector<base::TokenId> first_tokens;  // of every sequence, in the order of their beginning
  std::vector<base::TokenId> first_to_predict;  // the same, in the order of their first prediction
  std::vector<StepWork> steps;
  std::size_t most_open = 0;  // sequences at a time

 private:
  std::map<ensemble::SequenceId, base::TokenId> begun_;  // to the first token
  std::set<ensemble::SequenceId> predicted_;
};

struct WatchedEngineOptions {
  std::string mechanism = "filtered-submix";
  double budget = 2;
  double target_leakage = 0.01;
  double spread = 0.5;  // how far members are from the public model, in logits
  WhenExhausted when_exhausted = WhenExhausted::kPublic;
  divergence::RenyiOrder order = divergence::RenyiOrder::Two();
  mechanism::ChargeAccounting accounting = mechanism::ChargeAccounting::kDefault;
  int halves = 1;  // members a part
  std::vector<base::TokenId> end_tokens = {};
  int prefix_tokens_per_key = 0;
};

// Everything that an EngineCore stands on. Must outlive it.
class WatchedEngine {
 public:
  static constexpr int kParts = 4;

  explicit WatchedEngine(const WatchedEngineOptions& options = {})
      : ledger(kParts, options.budget),
        predictor(kParts * options.halves, options.spread),
        when_exhausted_(options.when_exhausted),
        end_tokens_(options.end_tokens),
        prefix_tokens_per_key_(options.prefix_tokens_per_key),
        random_(base::MakeSeededRandomSource(1)) {
    mechanism::MechanismOptions declared;
    declared.name = options.mechanism;
    declared.num_parts = kParts;
    declared.target_leakage = options.target_leakage;
    declared.order = options.order;
    declared.accounting = options.accounting;
    mechanism_ = mechanism::MakeAnyMechanism(declared).value();
  }

  std::unique_ptr<EngineCore> MakeCore() { return MakeCore(tokenizer_).value(); }
  base::StatusOr<std::unique_ptr<EngineCore>> MakeCore(const tokenizer::Tokenizer& tokenizer) {
    return EngineCore::Create({&predictor, mechanism_.get(), &ledger, &tokenizer, random_.get(),
                               when_exhausted_, end_tokens_, prefix_tokens_per_key_});
  }

  WatchedLedger ledger;
  WatchedPredictor predictor;

 private:
  const WhenExhausted when_exhausted_;
  const std::vector<base::TokenId> end_tokens_;
  const int prefix_tokens_per_key_;
  const std::unique_ptr<base::RandomSource> random_;
  const LetterTokenizer tokenizer_;
  std::unique_ptr<mechanism::Mechanism> mechanism_;
};

}  // namespace submix::engine
