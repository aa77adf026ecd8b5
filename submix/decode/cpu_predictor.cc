#include "submix/decode/cpu_predictor.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "submix/base/check.h"
#include "submix/base/processors.h"
#include "submix/decode/decoder_bank.h"
#include "submix/decode/key_value_cache.h"
#include "submix/decode/transformer.h"
#include "submix/ensemble/predictor_checks.h"

namespace submix::decode {
namespace {

using base::Status;
using base::StatusOr;
using ensemble::SequenceId;

// Rows of logits that exist at a time in Score: at most 512, of large vocabularies 128 MiB.
int LogitRows(std::size_t vocab_size) {
  return static_cast<int>(std::min<std::size_t>(512, (std::size_t{1} << 25) / vocab_size));
}

int PagesFor(int tokens) { return (tokens + kPageTokens - 1) / kPageTokens; }

struct Sequence {
  int length = 0;
  int hidden = 0;
  int row = 0;
  std::vector<std::byte*> slabs;
};

// Tokens that are computed together.
struct Batch {
  std::vector<base::TokenId> tokens;
  std::vector<int> positions;
  std::vector<TokenRun> runs;
  std::vector<int> rows;    // each token's, where rows are separate
  std::vector<int> wanted;  // tokens whose outcome is asked for
  int size() const { return static_cast<int>(tokens.size()); }
  void Clear() {
    tokens.clear();
    positions.clear();
    runs.clear();
    rows.clear();
    wanted.clear();
  }
};

HeadPage HeadPageOf(const model::DecoderConfig& config) {
  const int head_width = config.width_of_head();
  return {head_width, (head_width + 15) / 16 * 16};
}

template <typename Stored>
std::vector<SlabLayout> LayOutSlabs(const std::vector<DecoderBank<Stored>>& banks,
                                    bool has_byte_cache) {
  std::vector<SlabLayout> layouts;
  std::size_t begin = 0;
  for (const DecoderBank<Stored>& bank : banks) {
    SlabLayout layout;
    layout.shape = HeadPageOf(bank.config);
    layout.number_bytes = has_byte_cache ? sizeof(std::int8_t) : sizeof(Stored);
    layout.heads = bank.config.num_key_value_heads();
    layout.shared_layers = bank.first_adapted_layer;
    layout.groups = bank.groups;
    layout.layers = bank.config.layers;
    layout.begin = begin;
    begin += layout.bytes();
    layouts.push_back(layout);
  }
  return layouts;
}

std::size_t SlabBytes(const std::vector<SlabLayout>& layouts) {
  return layouts.back().begin + layouts.back().bytes();
}

template <typename Stored>
CpuPredictorMemory MemoryOf(const std::vector<DecoderBank<Stored>>& banks,
                            const std::vector<SlabLayout>& layouts) {
  CpuPredictorMemory memory;
  std::size_t rows = 0;
  for (const DecoderBank<Stored>& bank : banks) {
    memory.weights += bank.weight_bytes;
    memory.adapters += bank.adapter_bytes;
    rows += static_cast<std::size_t>(bank.groups);
  }
  memory.cache_per_16_tokens = SlabBytes(layouts);
  memory.logits_per_sequence =
      rows * static_cast<std::size_t>(banks.front().unembedding.product->outputs()) * sizeof(float);
  return memory;
}

template <typename Stored>
class Impl final : public CpuPredictor {
 public:
  Impl(int num_members, int rows_at_a_time, std::unique_ptr<base::WorkerTeam> team,
       std::unique_ptr<ProductSet> products, std::vector<DecoderBank<Stored>> banks,
       bool has_byte_cache)
      : num_members_(num_members),
        rows_at_a_time_(rows_at_a_time),
        team_(std::move(team)),
        products_(std::move(products)),
        banks_(std::move(banks)),
        config_(banks_.front().config),
        vocab_size_(banks_.front().unembedding.product->outputs()),
        layouts_(LayOutSlabs(banks_, has_byte_cache)),
        slabs_(SlabBytes(layouts_)),
        finals_(banks_.size()) {}

  int num_members() const override { return num_members_; }
  int vocab_size() const override { return vocab_size_; }
  int context_length() const override { return config_.context_length; }

  void ForEach(int count, const std::function<void(int)>& body) override {
    team_->ForEach(count, body);
  }

  int num_separate_rows() const override {
    return has_separate_rows() ? static_cast<int>(banks_.front().rows.size()) : 1;
  }
  SequenceId Open() override { return OpenHidden(0, 0); }
  SequenceId OpenHidden(int hidden, int row) override {
    SUBMIX_CHECK(0 <= row && row < num_separate_rows(), "a row that a sequence can be of");
    Sequence& opened = sequences_[++last_sequence_];
    opened.hidden = hidden;
    opened.row = row;
    opened.slabs.reserve(static_cast<std::size_t>(PagesFor(config_.context_length)));
    return last_sequence_;
  }
  void Close(SequenceId sequence) override {
    const auto found = sequences_.find(sequence);
    if (found == sequences_.end()) return;
    for (std::byte* slab : found->second.slabs) slabs_.Return(slab);
    sequences_.erase(found);
  }

  int prefix_granule() const override { return kPageTokens; }
  // Whole pages: nobody writes to them again.
  SequenceId OpenPrefix(SequenceId other, int tokens) override {
    const SequenceId opened = OpenHidden(sequences_.at(other).hidden, sequences_.at(other).row);
    const Sequence& longer = sequences_.at(other);
    SUBMIX_CHECK(tokens > 0 && tokens % kPageTokens == 0 && tokens <= longer.length,
                 "a prefix of what the sequence holds");
    Sequence& sequence = sequences_.at(opened);
    sequence.length = tokens;
    sequence.slabs.assign(longer.slabs.begin(), longer.slabs.begin() + PagesFor(tokens));
    for (std::byte* slab : sequence.slabs) slabs_.Share(slab);
    return opened;
  }

  Status Step(std::span<const Append> appends, std::span<float> logits) override {
    SUBMIX_RETURN_IF_ERROR(
        ensemble::CheckAppends(*this, appends, logits.size(), [this](SequenceId sequence) {
          const auto found = sequences_.find(sequence);
          return found == sequences_.end() ? -1 : std::int64_t{found->second.length};
        }));
    const auto layout_of = [this](std::size_t bank, int) { return layouts_[bank]; };
    for (std::size_t next = 0, predicted = 0; next < appends.size();) {
      batch_.Clear();
      do {
        AddToBatch(appends[next++]);
      } while (next < appends.size() &&
               batch_.size() + static_cast<int>(appends[next].tokens.size()) <= rows_at_a_time_);
      RunBatch(/*is_scoring=*/false, layout_of);
      if (batch_.wanted.empty()) continue;
      RunHeads(0, static_cast<int>(batch_.wanted.size()),
               logits.data() + predicted * num_rows() * vocab());
      predicted += batch_.wanted.size();
    }
    for (const Append& append : appends) {
      sequences_.at(append.sequence).length += static_cast<int>(append.tokens.size());
    }
    return base::OkStatus();
  }

  Status Score(std::span<const base::TokenId> tokens, std::size_t first,
               const PositionSink& sink) override {
    return ScoreRow(0, tokens, first, sink);
  }
  Status ScoreRow(int row, std::span<const base::TokenId> tokens, std::size_t first,
                  const PositionSink& sink) override {
    SUBMIX_CHECK(0 <= row && row < num_separate_rows(), "a row that a sequence can be of");
    SUBMIX_RETURN_IF_ERROR(ensemble::CheckDocument(*this, tokens, first));
    if (first >= tokens.size()) return base::OkStatus();
    const auto inputs = static_cast<int>(tokens.size()) - 1;
    batch_.Clear();
    for (int i = 0; i < inputs; ++i) {
      batch_.tokens.push_back(tokens[static_cast<std::size_t>(i)]);
      batch_.positions.push_back(i);
      if (i + 1 >= static_cast<int>(first)) batch_.wanted.push_back(i);
    }
    if (has_separate_rows()) batch_.rows.assign(batch_.tokens.size(), row);
    // All positions pass a layer together, so that one layer's keys and values are enough.
    const auto layout_of = [this](std::size_t bank, int groups) {
      SlabLayout layout = layouts_[bank];
      layout.begin = 0;
      layout.groups = groups;
      layout.has_one_layer = true;
      return layout;
    };
    std::size_t slab_bytes = 0;
    for (std::size_t bank = 0; bank < banks_.size(); ++bank) {
      slab_bytes = std::max(slab_bytes, layout_of(bank, GroupsAtATime(banks_[bank])).bytes());
    }
    const AlignedBuffer pages(slab_bytes * static_cast<std::size_t>(PagesFor(inputs)));
    std::vector<const std::byte*> slabs;
    for (int page = 0; page < PagesFor(inputs); ++page) {
      slabs.push_back(pages.data() + static_cast<std::size_t>(page) * slab_bytes);
    }
    batch_.runs.push_back({0, inputs, 0, 0, slabs.data()});
    RunBatch(/*is_scoring=*/true, layout_of);

    const int at_a_time = std::max(1, LogitRows(vocab()) / static_cast<int>(num_rows()));
    const auto wanted = static_cast<int>(batch_.wanted.size());
    std::vector<float> logits(static_cast<std::size_t>(std::min(at_a_time, wanted)) * num_rows() *
                              vocab());
    for (int begin = 0; begin < wanted; begin += at_a_time) {
      const int count = std::min(at_a_time, wanted - begin);
      RunHeads(begin, count, logits.data());
      for (int i = 0; i < count; ++i) {
        const std::span<const float> position(
            logits.data() + static_cast<std::size_t>(i) * num_rows() * vocab(),
            num_rows() * vocab());
        SUBMIX_RETURN_IF_ERROR(sink(first + static_cast<std::size_t>(begin + i), position));
      }
    }
    return base::OkStatus();
  }

  CpuPredictorMemory memory() const override { return MemoryOf(banks_, layouts_); }

 private:
  // More rows than a token has: each token says whose it is.
  bool has_separate_rows() const {
    return banks_.front().groups < static_cast<int>(banks_.front().rows.size());
  }
  std::size_t num_rows() const { return static_cast<std::size_t>(num_members_) + 1; }
  std::size_t width() const { return static_cast<std::size_t>(config_.width); }
  std::size_t vocab() const { return static_cast<std::size_t>(vocab_size_); }

  // Extends the batch by one append; its slabs are taken.
  void AddToBatch(const Append& append) {
    Sequence& sequence = sequences_.at(append.sequence);
    const auto count = static_cast<int>(append.tokens.size());
    while (static_cast<int>(sequence.slabs.size()) < PagesFor(sequence.length + count)) {
      sequence.slabs.push_back(slabs_.Take());
    }
    batch_.runs.push_back(
        {batch_.size(), count, sequence.length, sequence.hidden, sequence.slabs.data()});
    for (int i = 0; i < count; ++i) {
      batch_.tokens.push_back(append.tokens[static_cast<std::size_t>(i)]);
      batch_.positions.push_back(std::max(0, sequence.length + i - sequence.hidden));
      if (has_separate_rows()) batch_.rows.push_back(sequence.row);
    }
    if (append.predicts) batch_.wanted.push_back(batch_.size() - 1);
  }

  // Computes the batch. final_[bank] becomes [wanted, groups, C]: the outcome before the final
  // norm. `slabs_of(bank, groups)` is the layout that the runs' slabs have.
  template <typename SlabsOf>
  void RunBatch(bool is_scoring, const SlabsOf& slabs_of) {
    int longest = 0;
    for (const TokenRun& run : batch_.runs) longest = std::max(longest, run.start + run.count);
    shared_.Reserve(static_cast<std::size_t>(batch_.size()) * width() * sizeof(float));
    for (std::size_t i = 0; i < banks_.size(); ++i) {
      const DecoderBank<Stored>& bank = banks_[i];
      const int at_a_time = GroupsAtATime(bank);
      PrepareBuffers(bank, layouts_[i].shape, team_->size(), batch_.size() * at_a_time, longest,
                     buffers_);
      finals_[i].Reserve(batch_.wanted.size() * static_cast<std::size_t>(bank.groups) * width() *
                         sizeof(float));
    }
    PlanQueryBlocks(batch_.runs, buffers_);
    PlanTurns(banks_.front(), batch_.positions, buffers_);
    team_->Run([&](int worker) {
      for (std::size_t i = 0; i < banks_.size(); ++i) RunBank(i, is_scoring, slabs_of, worker);
    });
  }

  template <typename SlabsOf>
  void RunBank(std::size_t index, bool is_scoring, const SlabsOf& slabs_of, int worker) {
    const DecoderBank<Stored>& bank = banks_[index];
    const int shared_layers = bank.first_adapted_layer;
    Embed(bank, worker);
    if (shared_layers > 0) {
      const SlabLayout slabs = slabs_of(index, 1);
      const Pass<Stored> pass{bank, slabs, 0, 0, 1, batch_.size(), batch_.runs, batch_.rows};
      CopyRows(shared_.as<float>(), buffers_.hidden.as<float>(), 1, worker);
      RunLayers(pass, 0, shared_layers, buffers_, *team_, worker);
      CopyRows(buffers_.hidden.as<float>(), shared_.as<float>(), 1, worker);
    }
    const int at_a_time = GroupsAtATime(bank);
    for (int begin = 0; begin < bank.groups; begin += at_a_time) {
      const int groups = std::min(at_a_time, bank.groups - begin);
      const SlabLayout slabs = slabs_of(index, at_a_time);
      const Pass<Stored> pass{bank,        slabs,      is_scoring ? 0 : begin,
                              begin,       groups,     batch_.size(),
                              batch_.runs, batch_.rows};
      CopyRows(shared_.as<float>(), buffers_.hidden.as<float>(), groups, worker);
      RunLayers(pass, shared_layers, bank.config.layers, buffers_, *team_, worker);
      KeepWanted(bank, index, begin, groups, worker);
    }
  }

  // Groups of a bank that are computed at a time for the batch.
  int GroupsAtATime(const DecoderBank<Stored>& bank) const {
    return std::clamp(rows_at_a_time_ / std::max(1, batch_.size()), 1, bank.groups);
  }

  void Embed(const DecoderBank<Stored>& bank, int worker) {
    const base::WorkerTeam::Share share = team_->ShareOf(batch_.size(), worker);
    for (int token = share.begin; token < share.end; ++token) {
      const auto i = static_cast<std::size_t>(token);
      bank.Embed(batch_.tokens[i], batch_.positions[i], shared_.as<float>() + i * width());
    }
    team_->Barrier();
  }

  // `groups` copies of the batch's rows.
  void CopyRows(const float* from, float* to, int groups, int worker) {
    const base::WorkerTeam::Share share = team_->ShareOf(batch_.size(), worker);
    const std::size_t begin = static_cast<std::size_t>(share.begin) * width();
    const std::size_t bytes =
        static_cast<std::size_t>(share.end - share.begin) * width() * sizeof(float);
    for (int group = 0; group < groups; ++group) {
      const std::size_t shift =
          static_cast<std::size_t>(group) * static_cast<std::size_t>(batch_.size()) * width();
      std::memcpy(to + shift + begin, from + begin, bytes);
    }
    team_->Barrier();
  }

  void KeepWanted(const DecoderBank<Stored>& bank, std::size_t index, int group_begin, int groups,
                  int worker) {
    const base::WorkerTeam::Share share =
        team_->ShareOf(static_cast<int>(batch_.wanted.size()), worker);
    for (int i = share.begin; i < share.end; ++i) {
      for (int group = 0; group < groups; ++group) {
        const int row = group * batch_.size() + batch_.wanted[static_cast<std::size_t>(i)];
        const int kept = i * bank.groups + group_begin + group;
        std::memcpy(finals_[index].template as<float>() + static_cast<std::size_t>(kept) * width(),
                    buffers_.hidden.as<float>() + static_cast<std::size_t>(row) * width(),
                    width() * sizeof(float));
      }
    }
    team_->Barrier();
  }

  // logits [count, M + 1, V] of the wanted tokens [begin, begin + count).
  void RunHeads(int begin, int count, float* logits) {
    for (std::size_t i = 0; i < banks_.size(); ++i) {
      const DecoderBank<Stored>& bank = banks_[i];
      const int rows = count * bank.groups;
      PrepareBuffers(bank, layouts_[i].shape, team_->size(), rows, 1, buffers_);
      const bool is_all = banks_.size() == 1;
      if (!is_all) {
        bank_logits_.Reserve(static_cast<std::size_t>(rows) * vocab() * sizeof(float));
      }
      float* hidden =
          finals_[i].template as<float>() + static_cast<std::size_t>(begin * bank.groups) * width();
      float* results = is_all ? logits : bank_logits_.as<float>();
      team_->Run([&](int worker) {
        RunHead(bank, hidden, rows, buffers_, results, vocab_size_, *team_, worker);
        if (!is_all) ScatterLogits(bank, count, logits, worker);
      });
    }
  }

  void ScatterLogits(const DecoderBank<Stored>& bank, int count, float* logits, int worker) {
    const base::WorkerTeam::Share share = team_->ShareOf(count * bank.groups, worker);
    for (int row = share.begin; row < share.end; ++row) {
      const auto token = static_cast<std::size_t>(row / bank.groups);
      const auto target =
          static_cast<std::size_t>(bank.rows[static_cast<std::size_t>(row % bank.groups)]);
      std::memcpy(logits + (token * num_rows() + target) * vocab(),
                  bank_logits_.as<float>() + static_cast<std::size_t>(row) * vocab(),
                  vocab() * sizeof(float));
    }
  }

  const int num_members_;
  const int rows_at_a_time_;
  const std::unique_ptr<base::WorkerTeam> team_;
  const std::unique_ptr<ProductSet> products_;
  const std::vector<DecoderBank<Stored>> banks_;
  const model::DecoderConfig config_;
  const int vocab_size_;
  std::vector<SlabLayout> layouts_;  // a bank
  SlabPool slabs_;
  SequenceId last_sequence_ = 0;
  std::unordered_map<SequenceId, Sequence> sequences_;

  Batch batch_;
  PassBuffers buffers_;
  AlignedBuffer shared_;               // [tokens, C]: the outcome of the shared layers
  std::vector<AlignedBuffer> finals_;  // a bank: [wanted, groups, C]
  AlignedBuffer bank_logits_;          // of a bank that is not all rows
};

// --- loading

// The public model with all adapters, then every member that is a whole model.
std::vector<BankFiles> SortMembers(const CpuPredictorOptions& options) {
  std::vector<BankFiles> banks(1);
  banks[0].directory = options.public_directory;
  banks[0].has_separate_rows = options.has_separate_rows;
  banks[0].cache_directory = options.cache_directory;
  for (int m = 0; m < static_cast<int>(options.member_directories.size()); ++m) {
    const std::string& directory = options.member_directories[static_cast<std::size_t>(m)];
    if (ensemble::IsAdapterDirectory(directory)) {
      banks[0].adapters.push_back(directory);
      banks[0].adapter_rows.push_back(m + 1);
    } else {
      // Never in the cache: a member is private.
      banks.push_back({directory, m + 1, {}, {}, false, ""});
    }
  }
  for (BankFiles& bank : banks) bank.vocab_size = options.vocab_size;
  return banks;
}

// Without a team, only planned.
template <typename Stored>
StatusOr<std::vector<DecoderBank<Stored>>> LoadBanks(const CpuPredictorOptions& options,
                                                     ProductSet& products, base::WorkerTeam* team) {
  std::vector<DecoderBank<Stored>> banks;
  const std::vector<BankFiles> sorted = SortMembers(options);
  if (options.has_separate_rows && sorted.size() > 1) {
    return base::FailedPreconditionError(
        sorted[1].directory +
        ": a whole model, which only reads what all members read; members "
        "that read texts of their own are adapters");
  }
  for (const BankFiles& files : sorted) {
    SUBMIX_ASSIGN_OR_RETURN(auto bank, LoadDecoderBank<Stored>(files, products, team));
    banks.push_back(std::move(bank));
    SUBMIX_RETURN_IF_ERROR(
        ensemble::CheckMemberShape(banks.back().config, banks.front().config, files.directory));
  }
  return banks;
}

template <typename Stored>
StatusOr<std::unique_ptr<CpuPredictor>> LoadIn(const CpuPredictorOptions& options, int threads) {
  auto team = std::make_unique<base::WorkerTeam>(threads);
  auto products = std::make_unique<ProductSet>(options.precision, threads);
  SUBMIX_ASSIGN_OR_RETURN(auto banks, LoadBanks<Stored>(options, *products, team.get()));
  return std::unique_ptr<CpuPredictor>(std::make_unique<Impl<Stored>>(
      options.has_separate_rows ? 0 : static_cast<int>(options.member_directories.size()),
      options.rows_at_a_time, std::move(team), std::move(products), std::move(banks),
      options.has_byte_cache));
}

template <typename Stored>
StatusOr<CpuPredictorMemory> PlanIn(const CpuPredictorOptions& options, int threads) {
  ProductSet products(options.precision, threads);
  SUBMIX_ASSIGN_OR_RETURN(const auto banks, LoadBanks<Stored>(options, products, nullptr));
  return MemoryOf(banks, LayOutSlabs(banks, options.has_byte_cache));
}

StatusOr<int> CheckedThreads(const CpuPredictorOptions& options) {
  if (options.rows_at_a_time < 1) {
    return base::InvalidArgumentError("rows_at_a_time: expected 1 or more");
  }
  if (options.threads < 0 || options.threads > 1024) {
    return base::InvalidArgumentError("threads: expected 1 to 1024, or 0 for all processors");
  }
  return options.threads > 0 ? options.threads : base::AvailableProcessors();
}

}  // namespace

StatusOr<std::unique_ptr<CpuPredictor>> CpuPredictor::Load(const CpuPredictorOptions& options) {
  SUBMIX_ASSIGN_OR_RETURN(const int threads, CheckedThreads(options));
  if (options.precision == Precision::kFloat32) return LoadIn<float>(options, threads);
  return LoadIn<Bfloat16>(options, threads);
}

StatusOr<CpuPredictorMemory> CpuPredictor::Plan(const CpuPredictorOptions& options) {
  SUBMIX_ASSIGN_OR_RETURN(const int threads, CheckedThreads(options));
  if (options.precision == Precision::kFloat32) return PlanIn<float>(options, threads);
  return PlanIn<Bfloat16>(options, threads);
}

}  // namespace submix::decode
