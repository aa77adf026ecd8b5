// What the CPU predictor promises beyond the contract: no influence between rows, bounds of its
// precisions, bounded memory, nothing allocated a token, a cache of packed weights.
#include "submix/decode/cpu_predictor.h"

#include <cmath>
#include <filesystem>

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/ensemble/predictor_checks.h"
#include "submix/model/testing/tiny_model.h"
#include "tests/predictors/allocation_counter.h"

namespace submix::decode {
namespace {

using base::StatusCode;
using base::StatusIs;
using base::TokenId;
using ensemble::SequenceId;
using ::testing::AllOf;
using ::testing::HasSubstr;

using Append = ensemble::Predictor::Append;
using Logits = std::vector<float>;

// Of weights, and of keys and values.
struct Numbers {
  constexpr Numbers(Precision of_weights, bool is_cached_in_bytes = false)
      : weights(of_weights), has_byte_cache(is_cached_in_bytes) {}
  Precision weights;
  bool has_byte_cache;
  std::string Name() const {
    return std::string(PrecisionName(weights)) + (has_byte_cache ? "_byte_cache" : "");
  }
};
constexpr Numbers kNumbers[] = {
    Precision::kFloat32, Precision::kBfloat16,        Precision::kInt8,
    Precision::kInt4,    {Precision::kFloat32, true}, {Precision::kBfloat16, true}};

class CpuPredictorTest : public ::testing::Test {
 protected:
  CpuPredictorTest() {
    config_ = model::TinyConfig();
    config_.context_length = 64;
    config_.width = 64;
    config_.attention_heads = 4;
    config_.vocab_size = 211;
    model::WriteTinyModel(directory_.File("public"), config_, 1);
  }

  std::string Adapter(int seed) {
    const std::string path = directory_.File("adapter" + std::to_string(seed));
    model::LoraConfig config;
    config.rank = 4;
    config.lora_alpha = 8;
    config.layers = {1, 2};
    model::WriteTinyAdapter(path, config_, config, static_cast<std::uint64_t>(seed));
    return path;
  }
  std::vector<std::string> Adapters(int count) {
    std::vector<std::string> members;
    for (int m = 0; m < count; ++m) members.push_back(Adapter(100 + m));
    return members;
  }

  CpuPredictorOptions Options(const std::vector<std::string>& members, Numbers numbers) const {
    CpuPredictorOptions options;
    options.public_directory = directory_.File("public");
    options.member_directories = members;
    options.precision = numbers.weights;
    options.has_byte_cache = numbers.has_byte_cache;
    options.threads = 2;
    return options;
  }

  std::unique_ptr<CpuPredictor> Load(const std::vector<std::string>& members, Numbers numbers,
                                     const std::string& cache_directory = "") {
    CpuPredictorOptions options = Options(members, numbers);
    options.cache_directory = cache_directory;
    return Load(options);
  }
  std::unique_ptr<CpuPredictor> LoadSeparate(const std::vector<std::string>& members,
                                             Numbers numbers) {
    CpuPredictorOptions options = Options(members, numbers);
    options.has_separate_rows = true;
    return Load(options);
  }
  static std::unique_ptr<CpuPredictor> Load(const CpuPredictorOptions& options) {
    auto predictor = CpuPredictor::Load(options);
    SUBMIX_EXPECT_OK(predictor);
    return *std::move(predictor);
  }

  static Logits Step(CpuPredictor& predictor, const std::vector<Append>& appends) {
    Logits logits(ensemble::CountPredicting(appends) *
                  static_cast<std::size_t>(predictor.num_members() + 1) *
                  static_cast<std::size_t>(predictor.vocab_size()));
    SUBMIX_EXPECT_OK(predictor.Step(appends, logits));
    return logits;
  }

  Logits Row(const Logits& logits, std::size_t row) const {
    const auto vocab = static_cast<std::ptrdiff_t>(config_.vocab_size);
    const auto begin = logits.begin() + static_cast<std::ptrdiff_t>(row) * vocab;
    return {begin, begin + vocab};
  }

  std::vector<TokenId> Tokens(std::size_t count, std::uint64_t seed) const {
    return model::RandomTokens(count, config_.vocab_size, seed);
  }

  base::TemporaryDirectory directory_;
  model::DecoderConfig config_;
};

// Contract 6, to the bit and in every precision: swap the other members' adapters and the other
// sequences' texts.
TEST_F(CpuPredictorTest, ARowKnowsNothingOfOtherRows) {
  for (const Numbers numbers : kNumbers) {
    const std::string kept = Adapter(1);
    const auto before = Load({Adapter(2), kept, Adapter(3)}, numbers);
    const auto after = Load({Adapter(12), kept, Adapter(13)}, numbers);
    const std::vector<TokenId> mine = Tokens(21, 5);
    const std::vector<TokenId> others[] = {Tokens(9, 6), Tokens(9, 7)};
    const Logits a = Step(*before, {{before->Open(), others[0]}, {before->Open(), mine}});
    const Logits b = Step(*after, {{after->Open(), others[1]}, {after->Open(), mine}});
    for (const std::size_t row : {std::size_t{4}, std::size_t{6}}) {
      EXPECT_EQ(Row(a, row), Row(b, row)) << numbers.Name();
    }
    EXPECT_NE(Row(a, 0), Row(b, 0));
    EXPECT_NE(Row(a, 5), Row(b, 5));
  }
}

class CpuPredictorOfPrecisionTest : public CpuPredictorTest,
                                    public ::testing::WithParamInterface<Numbers> {};

INSTANTIATE_TEST_SUITE_P(Precisions, CpuPredictorOfPrecisionTest, ::testing::ValuesIn(kNumbers),
                         [](const auto& test) { return test.param.Name(); });

TEST_P(CpuPredictorOfPrecisionTest, IsBitwiseTheSameInAnyBatch) {
  const auto many = Load(Adapters(64), GetParam());
  const auto few = Load({Adapter(100)}, GetParam());
  const std::vector<TokenId> mine = Tokens(37, 5);
  std::vector<std::vector<TokenId>> texts;
  for (std::uint64_t i = 0; i < 9; ++i) texts.push_back(Tokens(1 + 3 * i, i));
  std::vector<Append> appends;
  for (const auto& text : texts) appends.push_back({many->Open(), text});
  const SequenceId sequence = many->Open();
  appends.push_back({sequence, std::span(mine).first(30)});
  Step(*many, appends);
  Logits a;
  for (std::size_t t = 30; t < mine.size(); ++t) {  // token by token, beside a neighbour
    const std::vector<TokenId> next = {7};
    a = Step(*many, {{appends[0].sequence, next}, {sequence, std::span(mine).subspan(t, 1)}});
  }
  const Logits b = Step(*few, {{few->Open(), mine}});  // at once, alone
  EXPECT_EQ(Row(a, 65), Row(b, 0));
  EXPECT_EQ(Row(a, 66), Row(b, 1));
  for (const std::size_t piece : {1, 15, 16, 17}) {  // as prompts enter, beside a neighbour
    const SequenceId pieces = few->Open(), neighbour = few->Open();
    const std::vector<TokenId> next = {7};
    for (std::size_t begin = 0; begin + piece < mine.size(); begin += piece) {
      Step(*few, {{neighbour, next},
                  {pieces, std::span(mine).subspan(begin, piece), /*predicts=*/false}});
    }
    const std::size_t left = (mine.size() - 1) % piece + 1;
    const Logits c = Step(*few, {{neighbour, next}, {pieces, std::span(mine).last(left)}});
    EXPECT_EQ(Row(c, 2), Row(b, 0)) << piece;
    EXPECT_EQ(Row(c, 3), Row(b, 1)) << piece;
  }
}

// KL(f32 || precision) in nats over the rows of a step.
struct Divergences {
  double worst = 0;
  double mean = 0;
};

Divergences Compare(const Logits& exact, const Logits& rounded, int vocab_size) {
  const auto vocab = static_cast<std::size_t>(vocab_size);
  Divergences result;
  const auto log_sum = [&](const float* x) {
    double sum = 0;
    for (std::size_t i = 0; i < vocab; ++i) sum += std::exp(static_cast<double>(x[i]));
    return std::log(sum);
  };
  for (std::size_t begin = 0; begin < exact.size(); begin += vocab) {
    const float* p = exact.data() + begin;
    const float* q = rounded.data() + begin;
    const double p_sum = log_sum(p), q_sum = log_sum(q);
    double divergence = 0;
    for (std::size_t i = 0; i < vocab; ++i) {
      divergence += std::exp(p[i] - p_sum) * (p[i] - p_sum - q[i] + q_sum);
    }
    result.worst = std::max(result.worst, divergence);
    result.mean += divergence * static_cast<double>(vocab) / static_cast<double>(exact.size());
  }
  return result;
}

// All positions of a text.
Logits ScoreAll(CpuPredictor& predictor, const std::vector<TokenId>& tokens) {
  Logits all;
  SUBMIX_EXPECT_OK(predictor.Score(tokens, 1, [&](std::size_t, std::span<const float> logits) {
    all.insert(all.end(), logits.begin(), logits.end());
    return base::OkStatus();
  }));
  return all;
}

// The bundled model, which is trained and so has the outliers that make rounding hard.
TEST(CpuPredictorPrecisionTest, BoundsOnTheBundledModel) {
  const std::string directory = std::string(SUBMIX_DATA_DIR) + "/public_model";
  const auto load = [&](Numbers numbers) {
    CpuPredictorOptions options;
    options.public_directory = directory;
    options.precision = numbers.weights;
    options.has_byte_cache = numbers.has_byte_cache;
    options.threads = 2;
    auto predictor = CpuPredictor::Load(options);
    SUBMIX_EXPECT_OK(predictor);
    return *std::move(predictor);
  };
  const auto exact = load(Precision::kFloat32);
  const auto tokens = model::RandomTokens(200, exact->vocab_size(), 3);
  const Logits expected = ScoreAll(*exact, tokens);
  const std::pair<Numbers, Divergences> bounds[] = {{Precision::kBfloat16, {2e-2, 1e-3}},
                                                    {Precision::kInt8, {1e-1, 1e-2}},
                                                    {Precision::kInt4, {1, 1e-1}},
                                                    {{Precision::kFloat32, true}, {2e-2, 1e-3}}};
  for (const auto& [numbers, bound] : bounds) {
    const Divergences found =
        Compare(expected, ScoreAll(*load(numbers), tokens), exact->vocab_size());
    EXPECT_LE(found.worst, bound.worst) << numbers.Name();
    EXPECT_LE(found.mean, bound.mean) << numbers.Name();
    RecordProperty("mean_divergence_" + numbers.Name(), std::to_string(found.mean));
    EXPECT_GT(found.mean, 0);
  }
}

// Allocations of some steps of one token a sequence.
std::int64_t CountAllocations(CpuPredictor& predictor, const std::vector<Append>& appends,
                              Logits& logits, int steps) {
  const std::int64_t before = AllocationsSoFar().value();
  bool is_ok = true;
  for (int i = 0; i < steps; ++i) is_ok = predictor.Step(appends, logits).ok() && is_ok;
  const std::int64_t after = AllocationsSoFar().value();
  EXPECT_TRUE(is_ok);
  return after - before;
}

// A sequence of its own tokens, behind others that it does not see: in float32 what it gives is the
// same but for the order of sums, whatever the others are.
TEST_F(CpuPredictorTest, HiddenTokensAreSeenByNone) {
  const auto predictor = Load({Adapter(1)}, Precision::kFloat32);
  const std::vector<TokenId> text = Tokens(20, 5), next = {7};
  const SequenceId plain = predictor->Open();
  Step(*predictor, {{plain, text}});
  const Logits expected = Step(*predictor, {{plain, next}});
  for (const std::size_t hidden : {1, 15, 16, 28}) {
    for (const std::uint64_t seed : {6, 7}) {
      const SequenceId behind = predictor->OpenHidden(static_cast<int>(hidden), 0);
      Step(*predictor, {{behind, Tokens(hidden, seed), /*predicts=*/false}});
      Step(*predictor, {{behind, text, /*predicts=*/false}});
      const SequenceId shared = predictor->OpenPrefix(behind, 16);
      const Logits found = Step(*predictor, {{behind, next}});
      ASSERT_EQ(found.size(), expected.size());
      // Summed in another order: they stand at other places of their pages.
      for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-4);
      // What shares its pages sees as little.
      std::vector<TokenId> rest = Tokens(hidden, seed);
      rest.insert(rest.end(), text.begin(), text.end());
      rest.push_back(7);
      EXPECT_EQ(Step(*predictor, {{shared, std::span(rest).subspan(16)}}), found);
      predictor->Close(behind);
      predictor->Close(shared);
    }
  }
}

// Sequences of one row each are those rows of a sequence of all; beside each other, token by token
// and behind what they share.
TEST_F(CpuPredictorTest, SeparateRowsAreTheRowsOfAll) {
  for (const Numbers numbers : kNumbers) {
    const auto together = Load(Adapters(3), numbers), separate = LoadSeparate(Adapters(3), numbers);
    EXPECT_EQ(together->num_separate_rows(), 1);
    EXPECT_EQ(separate->num_separate_rows(), 4);
    EXPECT_EQ(separate->num_members(), 0);
    const std::vector<TokenId> text = Tokens(23, 5), next = {7};
    const SequenceId all = together->Open();
    std::vector<Append> appends, shared, nexts;
    for (const int row : {3, 0, 2, 1, 2}) {
      appends.push_back({separate->OpenHidden(0, row), text});
    }
    const Logits expected[] = {Step(*together, {{all, text}}), Step(*together, {{all, next}})};
    const Logits whole = Step(*separate, appends);
    for (const Append& append : appends) {
      shared.push_back({separate->OpenPrefix(append.sequence, 16), std::span(text).subspan(16)});
      nexts.push_back({append.sequence, next});
    }
    const std::pair<Logits, const Logits*> found[] = {{whole, &expected[0]},
                                                      {Step(*separate, nexts), &expected[1]},
                                                      {Step(*separate, shared), &expected[0]}};
    for (const auto& [logits, rows] : found) {
      std::size_t i = 0;
      for (const std::size_t row : {3, 0, 2, 1, 2}) {
        const Logits own = Row(logits, i++);
        EXPECT_EQ(own, Row(*rows, row)) << numbers.Name() << ", row " << row;
      }
    }
    EXPECT_NE(Row(whole, 0), Row(whole, 1));
    EXPECT_NE(Row(whole, 0), Row(whole, 2));
  }
}

TEST_F(CpuPredictorTest, ASeparateRowKnowsNothingOfOtherRows) {
  for (const Numbers numbers : kNumbers) {
    const std::string kept = Adapter(1);
    const auto before = LoadSeparate({Adapter(2), kept, Adapter(3)}, numbers);
    const auto after = LoadSeparate({Adapter(12), kept, Adapter(13)}, numbers);
    const std::vector<TokenId> mine = Tokens(21, 5);
    const auto step = [&](CpuPredictor& predictor, std::uint64_t seed) {
      const std::vector<TokenId> first = Tokens(9, seed), last = Tokens(12, seed);
      return Step(predictor, {{predictor.OpenHidden(0, 1), first},
                              {predictor.OpenHidden(4, 2), mine},
                              {predictor.OpenHidden(0, 0), mine},
                              {predictor.OpenHidden(0, 3), last}});
    };
    const Logits a = step(*before, 6), b = step(*after, 7);
    EXPECT_EQ(Row(a, 1), Row(b, 1)) << numbers.Name();
    EXPECT_EQ(Row(a, 2), Row(b, 2)) << numbers.Name();
    EXPECT_NE(Row(a, 0), Row(b, 0));
    EXPECT_NE(Row(a, 3), Row(b, 3));
  }
}

TEST_F(CpuPredictorTest, SeparateRowsAreScoredAlone) {
  const auto together = Load(Adapters(2), Precision::kFloat32);
  const auto separate = LoadSeparate(Adapters(2), Precision::kFloat32);
  const std::vector<TokenId> tokens = Tokens(30, 5);
  const Logits expected = ScoreAll(*together, tokens);
  for (int row = 0; row <= 2; ++row) {
    std::size_t position = 0;
    SUBMIX_EXPECT_OK(
        separate->ScoreRow(row, tokens, 1, [&](std::size_t, std::span<const float> logits) {
          const auto own = static_cast<std::size_t>(row);
          EXPECT_EQ(Logits(logits.begin(), logits.end()), Row(expected, 3 * position++ + own));
          return base::OkStatus();
        }));
    EXPECT_EQ(position, 29u);
  }
}

TEST_F(CpuPredictorTest, NothingIsAllocatedATokenAndClosedMemoryIsUsedAgain) {
  if (!AllocationsSoFar()) GTEST_SKIP() << "the sanitizer allocates";
  for (const Numbers numbers : {Numbers(Precision::kFloat32), Numbers(Precision::kBfloat16)}) {
    const auto predictor = Load(Adapters(5), numbers);
    const std::vector<TokenId> prompt = Tokens(18, 1), one = {3};
    const std::vector<SequenceId> first = {predictor->Open(), predictor->Open()};
    std::vector<Append> appends = {{first[0], prompt}, {first[1], prompt}};
    Logits logits = Step(*predictor, appends);
    for (Append& append : appends) append.tokens = one;
    Step(*predictor, appends);
    EXPECT_EQ(CountAllocations(*predictor, appends, logits, 10), 0);
    for (const SequenceId id : first) predictor->Close(id);
    appends = {{predictor->Open(), one}, {predictor->Open(), one}};
    EXPECT_EQ(CountAllocations(*predictor, appends, logits, 20), 0);
  }
}

TEST_F(CpuPredictorTest, StatesItsMemory) {
  const auto predictor = Load(Adapters(16), Precision::kBfloat16);
  const CpuPredictorMemory memory = predictor->memory();
  // Per 16 tokens: one shared layer of one group and two of 17; keys and values; 2 bytes.
  EXPECT_EQ(memory.cache_per_16_tokens, std::size_t{16 * (1 + 2 * 17) * 64 * 2 * 2});
  // c_attn of two layers, rank 4: A [4, 64] and B [4, 192] a member.
  EXPECT_EQ(memory.adapters, std::size_t{16 * 2 * 4 * (64 + 192) * 2});
  EXPECT_GE(memory.weights, std::size_t{2 * (3 * 12 * 64 * 64 + 211 * 64)});
  EXPECT_EQ(memory.logits_per_sequence, std::size_t{17 * 211 * 4});
}

TEST_F(CpuPredictorTest, SeparateRowsHaveACacheEach) {
  const auto predictor = LoadSeparate(Adapters(16), Precision::kBfloat16);
  const CpuPredictorMemory memory = predictor->memory();
  EXPECT_EQ(memory.cache_per_16_tokens, std::size_t{16 * 3 * 64 * 2 * 2});
  EXPECT_EQ(memory.adapters, std::size_t{16 * 2 * 4 * (64 + 192) * 2});
  EXPECT_EQ(memory.logits_per_sequence, std::size_t{211 * 4});
  CpuPredictorOptions options = Options(Adapters(16), Precision::kBfloat16);
  options.has_separate_rows = true;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto plan, CpuPredictor::Plan(options));
  EXPECT_EQ(plan, memory);
  model::WriteTinyModel(directory_.File("whole"), config_, 2);
  options.member_directories.push_back(directory_.File("whole"));
  for (const base::Status& status :
       {CpuPredictor::Plan(options).status(), CpuPredictor::Load(options).status()}) {
    EXPECT_THAT(status, base::StatusIs(base::StatusCode::kFailedPrecondition,
                                       ::testing::HasSubstr("a whole model")));
  }
}

TEST_F(CpuPredictorTest, KnowsItsMemoryBeforeItLoads) {
  model::WriteTinyModel(directory_.File("whole"), config_, 2);
  std::vector<std::string> members = Adapters(3);
  members.push_back(directory_.File("whole"));
  for (const Numbers numbers : kNumbers) {
    SUBMIX_ASSERT_OK_AND_ASSIGN(const auto plan, CpuPredictor::Plan(Options(members, numbers)));
    EXPECT_EQ(plan, Load(members, numbers)->memory());
  }
  // Of adapters, too, without their weights.
  std::filesystem::remove(base::JoinPath(members[0], "adapter_model.safetensors"));
  SUBMIX_EXPECT_OK(CpuPredictor::Plan(Options(members, Precision::kFloat32)));
}

TEST_F(CpuPredictorTest, PackedWeightsAreMappedAgainAndNeverTrustedBlindly) {
  const std::vector<TokenId> tokens = Tokens(9, 2);
  for (const Numbers numbers : kNumbers) {
    const std::string cache = directory_.File("cache_" + std::string(numbers.Name()));
    const auto answer = [&] {
      const auto predictor = Load({Adapter(1)}, numbers, cache);
      return Step(*predictor, {{predictor->Open(), tokens}});
    };
    const Logits packed = answer();
    SUBMIX_ASSERT_OK_AND_ASSIGN(auto names, base::ListDirectory(cache));
    // Beside them the model's digest is noted, once its file is some seconds old.
    std::erase_if(names, [](const std::string& name) { return name.ends_with(".digest"); });
    ASSERT_EQ(names.size(), 1u);
    EXPECT_EQ(answer(), packed);
    // Cut short, or of another key: packed anew.
    const std::string path = base::JoinPath(cache, names[0]);
    std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
    EXPECT_EQ(answer(), packed);
    SUBMIX_ASSERT_OK_AND_ASSIGN(std::string content, base::ReadFile(path));
    content[3] ^= 1;
    SUBMIX_ASSERT_OK(base::WriteFile(path, content));
    EXPECT_EQ(answer(), packed);
  }
}

TEST_F(CpuPredictorTest, AnotherModelIsNeverAnsweredFromTheCache) {
  const std::string cache = directory_.File("cache");
  const std::vector<TokenId> tokens = Tokens(9, 2);
  const auto answer = [&] {
    const auto predictor = Load({}, Precision::kBfloat16, cache);
    return Step(*predictor, {{predictor->Open(), tokens}});
  };
  const Logits first = answer();
  model::WriteTinyModel(directory_.File("public"), config_, 2);
  const Logits second = answer();
  EXPECT_NE(first, second);
}

TEST_F(CpuPredictorTest, WeightsThatAreNotFiniteAreRefusedByName) {
  const std::string weights = directory_.File("public/model.safetensors");
  SUBMIX_ASSERT_OK_AND_ASSIGN(std::string bytes, base::ReadFile(weights));
  bytes.replace(bytes.size() - 4, 4, "\xff\xff\xff\xff");  // of the last tensor by name
  SUBMIX_ASSERT_OK(base::WriteFile(weights, bytes));
  CpuPredictorOptions options = Options({}, Precision::kBfloat16);
  options.cache_directory = directory_.File("cache");
  for (int start = 0; start < 2; ++start) {  // nothing is cached, either
    EXPECT_THAT(CpuPredictor::Load(options),
                StatusIs(StatusCode::kDataLoss,
                         AllOf(HasSubstr("\"wte.weight\""), HasSubstr("not finite"))));
  }
}

TEST_F(CpuPredictorTest, AdaptersThatAreNotFiniteAreRefusedByName) {
  const std::string adapter = Adapter(1);
  const std::string weights = base::JoinPath(adapter, "adapter_model.safetensors");
  SUBMIX_ASSERT_OK_AND_ASSIGN(std::string bytes, base::ReadFile(weights));
  bytes.replace(bytes.size() - 4, 4, "\xff\xff\xff\xff");
  SUBMIX_ASSERT_OK(base::WriteFile(weights, bytes));
  EXPECT_THAT(CpuPredictor::Load(Options({adapter}, Precision::kFloat32)),
              StatusIs(StatusCode::kDataLoss, AllOf(HasSubstr("lora_"), HasSubstr("not finite"))));
}

TEST_F(CpuPredictorTest, ManyThreadsAndMembers) {
  CpuPredictorOptions options;
  options.public_directory = directory_.File("public");
  options.member_directories = Adapters(16);
  options.threads = 5;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto five, CpuPredictor::Load(options));
  options.threads = 1;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto one, CpuPredictor::Load(options));
  const std::vector<TokenId> tokens = Tokens(40, 2);
  const Logits a = Step(*five, {{five->Open(), tokens}});
  const Logits b = Step(*one, {{one->Open(), tokens}});
  EXPECT_EQ(a, b);
  options.threads = -1;
  EXPECT_THAT(CpuPredictor::Load(options),
              base::StatusIs(base::StatusCode::kInvalidArgument, ::testing::HasSubstr("threads")));
}

}  // namespace
}  // namespace submix::decode
