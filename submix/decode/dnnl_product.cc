// Products by oneDNN: one matmul a block of columns and up to 64 rows into sums of this thread,
// which are then scaled, biased and written. Inputs and columns are padded with zeros to whole
// tiles: a weight with padding of oneDNN's own would be written to whenever it is multiplied.
//
// A block's packed weight is oneDNN's (with what it subtracts for signed activations), then, for
// int8, one scale a column. Compiled without fused products: one rounding on every processor.
#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>
#include <vector>

#include <dnnl.hpp>

#include "submix/base/check.h"
#include "submix/base/instruction_sets.h"
#include "submix/decode/matrix_product.h"
#include "submix/decode/worker_team.h"

// Of the run-time that oneDNN is linked to. <omp.h> would be the compiler's.
extern "C" {
int omp_get_max_threads();
void omp_set_num_threads(int threads);
}

namespace submix::decode {
namespace {

constexpr std::size_t kAlignment = 64;
// Whole tiles of every layout of oneDNN's.
constexpr int kColumnGranule = 64;
// With AMX, oneDNN 2.6 takes up smaller products by other means, which want another layout: those
// of one row with 256 inputs, and those of few rows and at most 256 results. Never here: a lone
// row is computed with one of zeros, and narrow blocks with columns of zeros.
constexpr int kLeastRows = 2;
constexpr int kLeastColumns = 192;
// Of a weight with many inputs too, so that its last block has few columns of zeros beside the
// others.
constexpr int kLeastMostColumns = 256;
// Rows of one call: beyond it nothing is gained, and the sums stay in the second-level cache, as
// does a block's weight while call after call reads it.
constexpr int kMostRows = 64;
constexpr std::size_t kMostBlockBytes = 3 << 18;
// |sum| < 2^31 for int8.
constexpr int kMostInputs = 1 << 17;

std::size_t Aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}
int RoundUp(int value, int granule) { return (value + granule - 1) / granule * granule; }

// The next call's share of the rows that are left. AMX multiplies tiles of 16 rows, up to three of
// them well whatever the last one's rows, but cuts 58 rows into 29 tiles of two. And no call should
// be left with one row.
int RowsOfCall(int rows) {
  if (rows > 96 || rows == kMostRows) return kMostRows;
  if (rows > kMostRows) return 48;
  return rows > 48 ? 32 : rows;
}

int PlannedRows(int rows) { return std::max(rows, kLeastRows); }

// oneDNN divides a call among the OpenMP threads of the calling thread, when it plans and when it
// executes. Our threads are one each; what the thread had stays for others, such as libtorch.
class OneOpenMpThread {
 public:
  OneOpenMpThread() : before_(omp_get_max_threads()) {
    if (before_ != 1) omp_set_num_threads(1);
  }
  ~OneOpenMpThread() {
    if (before_ != 1) omp_set_num_threads(before_);
  }
  OneOpenMpThread(const OneOpenMpThread&) = delete;
  OneOpenMpThread& operator=(const OneOpenMpThread&) = delete;

 private:
  int before_;
};

// Plans, and the primitives made of them, come from a cache of oneDNN's that all threads share:
// they are made on the thread that loads or steps, never by its workers, which only execute. What
// oneDNN cannot plan for these shapes and types, it cannot for any: our bug.
template <typename Plan>
auto Planned(Plan plan) {
  SUBMIX_CHECK(!WorkerTeam::IsWorking(), "a worker plans a product");
  try {
    return plan();
  } catch (const dnnl::error& error) {
    base::CheckFailed(__FILE__, __LINE__, "oneDNN plans a product", error.message);
  }
}

void CheckSuccess(dnnl_status_t status) {
  SUBMIX_CHECK(status == dnnl_success, "oneDNN refuses to multiply");
}

// The C function: the C++ one allocates.
void Execute(const dnnl::primitive& primitive, const dnnl::stream& stream,
             std::initializer_list<dnnl_exec_arg_t> arguments) {
  CheckSuccess(dnnl_primitive_execute(primitive.get(), stream.get(),
                                      static_cast<int>(arguments.size()), arguments.begin()));
}

// Scratch as an argument: a primitive's own would be shared by the threads that execute it.
dnnl::primitive_attr CallersScratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

// `bias` may be null.
void AddBias(const float* sums, const float* bias, int count, float* results) {
  base::RunVectorised([=]() SUBMIX_VECTOR_LOOP {
    if (bias == nullptr) {
      for (int i = 0; i < count; ++i) results[i] = sums[i];
    } else {
      for (int i = 0; i < count; ++i) results[i] = sums[i] + bias[i];
    }
  });
}

void ScaleAndAddBias(const std::int32_t* sums, float row_scale, const float* scales,
                     const float* bias, int count, float* results) {
  base::RunVectorised([=]() SUBMIX_VECTOR_LOOP {
    if (bias == nullptr) {
      for (int i = 0; i < count; ++i) {
        results[i] = static_cast<float>(sums[i]) * (row_scale * scales[i]);
      }
    } else {
      for (int i = 0; i < count; ++i) {
        results[i] = static_cast<float>(sums[i]) * (row_scale * scales[i]) + bias[i];
      }
    }
  });
}

int MostColumns(ActivationFormat format, int inputs) {
  const std::size_t fitting = kMostBlockBytes / ActivationRowBytes(format, inputs);
  return std::max(static_cast<int>(fitting) / kColumnGranule * kColumnGranule, kLeastMostColumns);
}

class DnnlProduct final : public MatrixProduct {
 public:
  DnnlProduct(ActivationFormat format, int inputs, int outputs, int workers)
      : MatrixProduct(inputs, outputs, format, workers,
                      {kColumnGranule, kLeastColumns, MostColumns(format, inputs)}),
        padded_inputs_(static_cast<int>(ActivationRowBytes(format, inputs) /
                                        dnnl::memory::data_type_size(stored_type()))),
        calls_(static_cast<std::size_t>(num_blocks())) {
    SUBMIX_CHECK(inputs > 0 && inputs <= kMostInputs && outputs > 0, "a product's shape");
    const OneOpenMpThread one;
    const int last = block(num_blocks() - 1).count();
    widths_.push_back(MakeWidth(block(0).count()));
    if (last != block(0).count()) widths_.push_back(MakeWidth(last));
  }

  std::size_t packed_bytes() const override {
    return PackedBegin(num_blocks() - 1) + BytesOf(WidthOf(num_blocks() - 1));
  }

  void Pack(int index, const WeightSource& source, std::byte* packed) const override {
    using dnnl::memory;
    const OneOpenMpThread one;
    const Columns columns = block(index);
    const Width& width = WidthOf(index);
    const std::vector<float> weights = ReadColumns(source, columns);
    const std::size_t row_bytes = ActivationRowBytes(format(), inputs());
    std::vector<std::byte> rows(row_bytes * static_cast<std::size_t>(width.padded_columns));
    std::vector<float> scales(static_cast<std::size_t>(width.padded_columns));
    for (std::size_t n = 0; n < static_cast<std::size_t>(columns.count()); ++n) {
      const std::size_t depth = static_cast<std::size_t>(inputs());
      StoreActivations(format(), std::span(weights).subspan(n * depth, depth),
                       rows.data() + n * row_bytes, &scales[n]);
    }
    std::byte* out = packed + PackedBegin(index);
    std::memset(out, 0, BytesOf(width));  // oneDNN leaves some bytes as they are
    const memory from(width.columns, engine_, rows.data());
    const memory to(width.weights, engine_, out);
    const memory scratchpad(width.packing_scratchpad, engine_);
    Execute(width.packing, dnnl::stream(engine_),
            {{DNNL_ARG_FROM, from.get()},
             {DNNL_ARG_TO, to.get()},
             {DNNL_ARG_SCRATCHPAD, scratchpad.get()}});
    if (is_int8()) {
      std::memcpy(out + Aligned(width.weights.get_size()), scales.data(),
                  scales.size() * sizeof(float));
    }
  }

  // Never less for more rows.
  std::size_t scratch_bytes(int rows) const override {
    const int most = PlannedRows(std::min(rows, kMostRows));
    std::size_t bytes = 0;
    for (const Width& width : widths_) {
      bytes = std::max(bytes, FewRowsBytes() + Aligned(SumsBytes(width, most)) +
                                  Aligned(width.scratchpad_bytes[static_cast<std::size_t>(most)]));
    }
    return bytes;
  }

  void Multiply(int index, const Operands& operands) const override {
    const OneOpenMpThread one;
    const std::size_t row_bytes = ActivationRowBytes(format(), inputs());
    for (int row = 0, rows = 0; row < operands.rows; row += rows) {
      rows = RowsOfCall(operands.rows - row);
      const int planned = PlannedRows(rows);
      const std::byte* activations =
          operands.activations + static_cast<std::size_t>(row) * row_bytes;
      if (rows < planned) {
        const std::size_t bytes = static_cast<std::size_t>(rows) * row_bytes;
        std::memcpy(operands.scratch, activations, bytes);
        std::memset(operands.scratch + bytes, 0, FewRowsBytes() - bytes);
        activations = operands.scratch;
      }
      MultiplyRows(index, planned, activations, operands);
      WriteResults(index, row, rows, operands);
    }
  }

  void Prepare(int rows) override {
    const OneOpenMpThread one;
    for (int row = 0, count = 0; row < rows; row += count) {
      count = RowsOfCall(rows - row);
      PrepareCalls(PlannedRows(count));
    }
  }

 private:
  // What blocks of one width share. The last block may be narrower than the others.
  struct Width {
    int padded_columns = 0;
    dnnl::memory::desc weights;  // the packed layout, whatever the number of rows
    dnnl::memory::desc columns;  // what is packed: each column like a row of activations
    dnnl::memory::desc packing_scratchpad;
    dnnl::reorder packing;
    std::array<std::size_t, kMostRows + 1> scratchpad_bytes{};  // for so many rows and fewer
    std::array<dnnl::matmul, kMostRows + 1> by_rows;            // those prepared
  };
  // One block's call with so many rows. Kept because making its parts costs as much as small
  // products do; only the thread that has the block touches it.
  struct Call {
    dnnl::matmul primitive;
    dnnl::stream stream;
    dnnl::memory activations;
    dnnl::memory weights;
    dnnl::memory sums;
    dnnl::memory scratchpad;
  };
  using CallsOfBlock = std::array<std::unique_ptr<Call>, kMostRows + 1>;

  bool is_int8() const { return format() == ActivationFormat::kInt8; }
  dnnl::memory::data_type stored_type() const {
    return is_int8() ? dnnl::memory::data_type::s8 : dnnl::memory::data_type::bf16;
  }
  const Width& WidthOf(int index) const { return widths_[WidthIndex(index)]; }
  std::size_t WidthIndex(int index) const {
    return block(index).count() == block(0).count() ? 0 : 1;
  }
  std::size_t BytesOf(const Width& width) const {
    const std::size_t scales =
        is_int8() ? static_cast<std::size_t>(width.padded_columns) * sizeof(float) : 0;
    return Aligned(width.weights.get_size()) + Aligned(scales);
  }
  std::size_t PackedBegin(int index) const {
    return static_cast<std::size_t>(index) * BytesOf(widths_[0]);
  }
  // The scratch begins with the few rows that are computed with rows of zeros, and the sums.
  std::size_t FewRowsBytes() const {
    return static_cast<std::size_t>(kLeastRows) * ActivationRowBytes(format(), inputs());
  }
  static std::size_t SumsBytes(const Width& width, int rows) {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(width.padded_columns) *
           sizeof(float);
  }

  Width MakeWidth(int columns) const {
    Width width;
    width.padded_columns = std::max(RoundUp(columns, kColumnGranule), kLeastColumns);
    const dnnl::memory::desc any({padded_inputs_, width.padded_columns}, stored_type(),
                                 dnnl::memory::format_tag::any);
    // One layout for all, though each might want its own.
    width.weights = Planned([&] { return Plan(any, kMostRows).weights_desc(); });
    PlanPacking(width);
    const auto& dims = width.weights.data;
    SUBMIX_CHECK(std::equal(dims.dims, dims.dims + 2, dims.padded_dims),
                 "oneDNN pads the weight although it has whole tiles");
    for (std::size_t rows = kLeastRows; rows <= kMostRows; ++rows) {
      const std::size_t bytes = Planned(
          [&] { return Plan(width.weights, static_cast<int>(rows)).scratchpad_desc().get_size(); });
      width.scratchpad_bytes[rows] = std::max(width.scratchpad_bytes[rows - 1], bytes);
    }
    return width;
  }

  void PlanPacking(Width& width) const {
    using dnnl::memory;
    width.columns =
        memory::desc({padded_inputs_, width.padded_columns}, stored_type(), memory::format_tag::ba);
    width.packing = Planned([&] {
      const dnnl::reorder::primitive_desc plan(engine_, width.columns, engine_, width.weights,
                                               CallersScratchpad());
      width.packing_scratchpad = plan.scratchpad_desc();
      return dnnl::reorder(plan);
    });
  }

  dnnl::matmul::primitive_desc Plan(const dnnl::memory::desc& weights, int rows) const {
    using dnnl::memory;
    const auto columns = weights.dims()[1];
    const memory::desc activations({rows, padded_inputs_}, stored_type(), memory::format_tag::ab);
    const memory::desc sums({rows, columns},
                            is_int8() ? memory::data_type::s32 : memory::data_type::f32,
                            memory::format_tag::ab);
    return {dnnl::matmul::desc(activations, weights, sums), CallersScratchpad(), engine_};
  }

  void PrepareCalls(int rows) {
    const auto at = static_cast<std::size_t>(rows);
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if (calls_[i][at] != nullptr) continue;
      Width& width = widths_[WidthIndex(static_cast<int>(i))];
      calls_[i][at] = Planned([&] {
        const dnnl::matmul::primitive_desc plan = Plan(width.weights, rows);
        dnnl::matmul& primitive = width.by_rows[at];
        if (!primitive) primitive = dnnl::matmul(plan);
        return std::make_unique<Call>(Call{primitive, dnnl::stream(engine_),
                                           dnnl::memory(plan.src_desc(), engine_, nullptr),
                                           dnnl::memory(plan.weights_desc(), engine_, nullptr),
                                           dnnl::memory(plan.dst_desc(), engine_, nullptr),
                                           dnnl::memory(plan.scratchpad_desc(), engine_, nullptr)});
      });
    }
  }

  // Into sums [rows, padded columns] in the scratch.
  void MultiplyRows(int index, int rows, const std::byte* activations,
                    const Operands& operands) const {
    const Call* const found =
        calls_[static_cast<std::size_t>(index)][static_cast<std::size_t>(rows)].get();
    SUBMIX_CHECK(found != nullptr, "Prepare has not seen this many rows");
    const Call& call = *found;
    const auto set = [](const dnnl::memory& memory, const std::byte* bytes) {
      // oneDNN only reads what a product reads.
      CheckSuccess(dnnl_memory_set_data_handle(memory.get(), const_cast<std::byte*>(bytes)));
    };
    std::byte* const sums = operands.scratch + FewRowsBytes();
    set(call.activations, activations);
    set(call.weights, operands.packed + PackedBegin(index));
    set(call.sums, sums);
    set(call.scratchpad, sums + Aligned(SumsBytes(WidthOf(index), rows)));
    Execute(call.primitive, call.stream,
            {{DNNL_ARG_SRC, call.activations.get()},
             {DNNL_ARG_WEIGHTS, call.weights.get()},
             {DNNL_ARG_DST, call.sums.get()},
             {DNNL_ARG_SCRATCHPAD, call.scratchpad.get()}});
  }

  void WriteResults(int index, int first_row, int rows, const Operands& operands) const {
    const Columns columns = block(index);
    const Width& width = WidthOf(index);
    const int count = columns.count();
    const float* bias = operands.bias == nullptr ? nullptr : operands.bias + columns.begin;
    const auto* scales = reinterpret_cast<const float*>(operands.packed + PackedBegin(index) +
                                                        Aligned(width.weights.get_size()));
    for (int i = 0; i < rows; ++i) {
      const auto row = static_cast<std::size_t>(first_row + i);
      float* results = operands.results + row * operands.results_stride + columns.begin;
      const std::byte* sums = operands.scratch + FewRowsBytes() + SumsBytes(width, i);
      if (is_int8()) {
        const auto* integers = reinterpret_cast<const std::int32_t*>(sums);
        ScaleAndAddBias(integers, operands.scales[row], scales, bias, count, results);
      } else {
        AddBias(reinterpret_cast<const float*>(sums), bias, count, results);
      }
    }
  }

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  int padded_inputs_;
  std::vector<Width> widths_;  // the first blocks', then the last one's if it is narrower
  std::vector<CallsOfBlock> calls_;
};

}  // namespace

std::unique_ptr<MatrixProduct> MakeDnnlProduct(Precision precision, int inputs, int outputs,
                                               int workers) {
  SUBMIX_CHECK(precision != Precision::kFloat32, "float32 is multiplied by panels");
  SUBMIX_CHECK(precision != Precision::kInt8 || ProcessorMultipliesInt8(), "sums would saturate");
  const ActivationFormat format =
      precision == Precision::kInt8 ? ActivationFormat::kInt8 : ActivationFormat::kBfloat16;
  return std::make_unique<DnnlProduct>(format, inputs, outputs, workers);
}

}  // namespace submix::decode
