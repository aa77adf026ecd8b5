// The CPU predictor in float32 against libtorch's, on random models with every kind of adapter.
#include <cmath>

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/decode/cpu_predictor.h"
#include "submix/model/testing/tiny_model.h"
#include "submix/train/models/torch_predictor.h"

namespace submix {
namespace {

using base::TokenId;
using ensemble::SequenceId;

using Append = ensemble::Predictor::Append;
using Logits = std::vector<float>;

// On log-probabilities: of a trained model, and of random weights, which amplify every rounding.
constexpr double kTrainedTolerance = 1e-4;
constexpr double kRandomTolerance = 5e-4;

std::vector<double> LogSoftmax(std::span<const float> logits) {
  double most = logits[0], sum = 0;
  for (const float x : logits) most = std::max(most, static_cast<double>(x));
  for (const float x : logits) sum += std::exp(x - most);
  std::vector<double> result;
  for (const float x : logits) result.push_back(x - most - std::log(sum));
  return result;
}

class CpuAgainstTorchTest : public ::testing::Test {
 protected:
  CpuAgainstTorchTest() {
    config_ = model::TinyConfig();
    config_.context_length = 70;  // more than four pages
    config_.width = 24;           // heads of 12
    config_.attention_heads = 2;
    config_.layers = 4;
    public_directory_ = directory_.File("public");
    model::WriteTinyModel(public_directory_, config_, 1);
  }

  void UseBundledModel() {
    public_directory_ = std::string(SUBMIX_DATA_DIR) + "/public_model";
    SUBMIX_ASSERT_OK_AND_ASSIGN(
        config_, model::LoadDecoderConfig(base::JoinPath(public_directory_, "config.json")));
    tolerance_ = kTrainedTolerance;
  }

  std::string Adapter(int seed, std::vector<std::string> modules, std::vector<int> layers,
                      int rank) {
    const std::string path = directory_.File("adapter" + std::to_string(seed));
    model::LoraConfig config;
    config.rank = rank;
    config.lora_alpha = 2 * rank;
    config.target_modules = std::move(modules);
    config.layers = std::move(layers);
    model::WriteTinyAdapter(path, config_, config, static_cast<std::uint64_t>(seed));
    return path;
  }

  void Load(const std::vector<std::string>& members) {
    decode::CpuPredictorOptions cpu;
    cpu.public_directory = public_directory_;
    cpu.member_directories = members;
    cpu.precision = decode::Precision::kFloat32;
    cpu.threads = 2;
    cpu.rows_at_a_time = 40;
    SUBMIX_ASSERT_OK_AND_ASSIGN(cpu_, decode::CpuPredictor::Load(cpu));
    train::TorchPredictorOptions torch;
    torch.public_directory = cpu.public_directory;
    torch.member_directories = members;
    torch.threads = 1;
    SUBMIX_ASSERT_OK_AND_ASSIGN(torch_, train::TorchPredictor::Load(torch));
  }

  void ExpectClose(std::span<const float> a, std::span<const float> b) const {
    ASSERT_EQ(a.size(), b.size());
    const auto vocab = static_cast<std::size_t>(config_.vocab_size);
    for (std::size_t row = 0; row < a.size(); row += vocab) {
      const auto x = LogSoftmax(a.subspan(row, vocab)), y = LogSoftmax(b.subspan(row, vocab));
      for (std::size_t i = 0; i < vocab; ++i) ASSERT_NEAR(x[i], y[i], tolerance_);
    }
  }

  // One step of both predictors, which number their sequences alike.
  void StepBoth(const std::vector<Append>& appends) {
    Logits a(appends.size() * static_cast<std::size_t>(cpu_->num_members() + 1) *
             static_cast<std::size_t>(config_.vocab_size));
    Logits b(a.size());
    SUBMIX_ASSERT_OK(cpu_->Step(appends, a));
    SUBMIX_ASSERT_OK(torch_->Step(appends, b));
    ExpectClose(a, b);
  }

  SequenceId OpenBoth() {
    const SequenceId id = cpu_->Open();
    EXPECT_EQ(torch_->Open(), id);
    return id;
  }
  void CloseBoth(SequenceId id) {
    cpu_->Close(id);
    torch_->Close(id);
  }

  std::vector<TokenId> Tokens(std::size_t count, int seed) const {
    return model::RandomTokens(count, config_.vocab_size, static_cast<std::uint64_t>(seed));
  }

  base::TemporaryDirectory directory_;
  std::string public_directory_;
  model::DecoderConfig config_;
  double tolerance_ = kRandomTolerance;
  std::unique_ptr<decode::CpuPredictor> cpu_;
  std::unique_ptr<ensemble::Predictor> torch_;
};

TEST_F(CpuAgainstTorchTest, EveryKindOfAdapter) {
  const std::vector<std::string> all = {"c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj"};
  const std::string whole_model = directory_.File("whole");
  model::WriteTinyModel(whole_model, config_, 99);
  const std::vector<std::vector<std::string>> ensembles = {
      {},
      {Adapter(1, {"c_attn"}, {}, 8), Adapter(2, {"c_attn"}, {}, 8)},
      {Adapter(3, all, {}, 3), Adapter(4, {"mlp.c_proj"}, {1, 3}, 9)},
      {Adapter(5, all, {3}, 2), Adapter(6, all, {2}, 1), Adapter(7, {"c_attn"}, {2, 3}, 4)},
      {whole_model, Adapter(8, all, {3}, 2)},
      {whole_model},
  };
  for (const auto& members : ensembles) {
    Load(members);
    const std::vector<TokenId> prompt = Tokens(37, 5);
    StepBoth({{OpenBoth(), prompt}});
    const std::vector<TokenId> document = Tokens(71, 6);
    std::vector<Logits> a, b;
    for (const auto& [predictor, positions] :
         {std::pair<ensemble::Predictor*, std::vector<Logits>*>{cpu_.get(), &a},
          {torch_.get(), &b}}) {
      SUBMIX_ASSERT_OK(predictor->Score(document, 3, [&](std::size_t, std::span<const float> row) {
        positions->emplace_back(row.begin(), row.end());
        return base::OkStatus();
      }));
    }
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) ExpectClose(a[i], b[i]);
  }
}

// Sequences of all lengths join, leave and fill their contexts; memory of those that left is used
// again.
TEST_F(CpuAgainstTorchTest, RaggedSequencesJoinAndLeave) {
  Load({Adapter(1, {"c_attn"}, {2, 3}, 4), Adapter(2, {"c_attn"}, {2, 3}, 4)});
  std::vector<SequenceId> live;
  std::vector<std::size_t> lengths;
  for (int step = 0; step < 60; ++step) {
    if (step % 7 == 0) {
      live.push_back(OpenBoth());
      lengths.push_back(0);
    }
    if (step % 16 == 15) {
      CloseBoth(live.front());
      live.erase(live.begin());
      lengths.erase(lengths.begin());
    }
    std::vector<std::vector<TokenId>> texts;
    std::vector<Append> appends;
    for (std::size_t i = 0; i < live.size(); ++i) {
      const std::size_t count = lengths[i] == 0 ? 1 + 5 * i : 1 + (step + i) % 3;
      if (lengths[i] + count > 70) continue;
      texts.push_back(Tokens(count, step * 31 + static_cast<int>(i)));
      appends.push_back({live[i], {}});
      lengths[i] += count;
    }
    for (std::size_t i = 0; i < appends.size(); ++i) appends[i].tokens = texts[i];
    std::ranges::rotate(appends, appends.begin() + step % static_cast<int>(appends.size()));
    StepBoth(appends);
  }
}

// As the engine does when a context is full: a new sequence with the newest part of the text.
TEST_F(CpuAgainstTorchTest, ContextRollsOver) {
  Load({Adapter(1, {"c_attn"}, {}, 8)});
  std::vector<TokenId> text = Tokens(70, 3);
  SequenceId id = OpenBoth();
  StepBoth({{id, text}});
  for (int round = 0; round < 3; ++round) {
    CloseBoth(id);
    id = OpenBoth();
    const std::vector<TokenId> newest(text.end() - 35, text.end());
    StepBoth({{id, newest}});
    for (int i = 0; i < 35; ++i) {
      const std::vector<TokenId> next = Tokens(1, 100 * round + i);
      text.push_back(next[0]);
      StepBoth({{id, next}});
    }
  }
}

TEST_F(CpuAgainstTorchTest, TheBundledModelWithAdapters) {
  UseBundledModel();
  const std::vector<std::string> all = {"c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj"};
  // Random factors would drown the model: as small as trained ones are.
  std::vector<std::string> members = {Adapter(1, all, {}, 8), Adapter(2, {"c_attn"}, {4, 5}, 16)};
  for (const std::string& member : members) {
    SUBMIX_ASSERT_OK_AND_ASSIGN(auto adapter, model::LoadLoraAdapter(member, config_));
    for (model::LoraModule& module : adapter.modules) {
      for (float& value : module.a) value *= 0.05f;
      for (float& value : module.b) value *= 0.05f;
    }
    SUBMIX_ASSERT_OK(model::SaveLoraAdapter(adapter, config_, member));
  }
  Load(members);
  const SequenceId id = OpenBoth();
  const std::vector<TokenId> prompt = Tokens(100, 5);
  StepBoth({{id, prompt}});
  for (int i = 0; i < 5; ++i) {
    const std::vector<TokenId> next = Tokens(1, i);
    const std::vector<TokenId> other = Tokens(20, 50 + i);
    StepBoth({{id, next}, {OpenBoth(), other}});
  }
}

}  // namespace
}  // namespace submix
