#include "submix/train/federated/word_lstm.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <random>

#include <torch/types.h>

#include "submix/base/check.h"
#include "submix/train/federated/word_vocabulary.h"
#include "submix/train/kernels/fused_kernels.h"

namespace submix::train {
namespace {

using base::TokenId;

constexpr int kGates = 4;  // input, forget, output, candidate
enum VectorIndex {
  kEmbedding = 0,
  kKernels = 1,
  kBiases = 5,
  kProjection = 9,
  kProjectionBias = 10
};

// Our own distributions: the library's differ between libraries.
class Initial {
 public:
  explicit Initial(std::uint64_t seed) : generator_(seed) {}

  double Uniform() { return (static_cast<double>(generator_() >> 11) + 0.5) * 0x1p-53; }
  double Normal() {
    const double radius = std::sqrt(-2 * std::log(Uniform()));
    return radius * std::cos(2 * std::numbers::pi * Uniform());
  }

 private:
  std::mt19937_64 generator_;
};

std::span<float> Part(std::span<float> parameters, const ParameterVector& vector) {
  return parameters.subspan(vector.begin, vector.size());
}

// Writes [rows, width] divided by each row's norm, and 1 / norm; zero for a zero row.
void NormaliseRows(const float* rows, std::int64_t count, std::int64_t width, float* normalised,
                   float* inverse_norms) {
  for (std::int64_t r = 0; r < count; ++r) {
    const float* row = rows + r * width;
    double squares = 0;
    for (std::int64_t j = 0; j < width; ++j) squares += static_cast<double>(row[j]) * row[j];
    const float inverse = squares > 0 ? static_cast<float>(1 / std::sqrt(squares)) : 0.0f;
    inverse_norms[r] = inverse;
    for (std::int64_t j = 0; j < width; ++j) normalised[r * width + j] = row[j] * inverse;
  }
}

at::Tensor View(const float* data, at::IntArrayRef shape) {
  return torch::from_blob(const_cast<float*>(data), shape);
}

}  // namespace

ParameterVectors WordLstmVectors(const WordLstmShape& shape) {
  constexpr const char* kGateNames[kGates] = {"input", "forget", "output", "candidate"};
  ParameterVectors vectors;
  AppendVector(vectors, "embedding", {shape.vocab_size, shape.width});
  for (const char* gate : kGateNames) {
    AppendVector(vectors, std::string(gate) + ".kernel", {shape.units, shape.width + shape.units});
  }
  for (const char* gate : kGateNames) {
    AppendVector(vectors, std::string(gate) + ".bias", {shape.units});
  }
  AppendVector(vectors, "projection.kernel", {shape.units, shape.width});
  AppendVector(vectors, "projection.bias", {shape.width});
  return vectors;
}

std::vector<float> InitialWordLstm(const WordLstmShape& shape, std::uint64_t seed) {
  const ParameterVectors vectors = WordLstmVectors(shape);
  std::vector<float> parameters(vectors.back().end, 0.0f);
  Initial initial(seed);
  for (float& value : Part(parameters, vectors[kEmbedding])) {
    value = static_cast<float>(initial.Normal());
  }
  NormaliseEmbedding(shape, parameters);
  const auto fill_matrix = [&](const ParameterVector& vector) {
    const double bound = std::sqrt(6.0 / static_cast<double>(vector.shape[0] + vector.shape[1]));
    for (float& value : Part(parameters, vector)) {
      value = static_cast<float>(bound * (2 * initial.Uniform() - 1));
    }
  };
  for (int gate = 0; gate < kGates; ++gate) fill_matrix(vectors[kKernels + gate]);
  fill_matrix(vectors[kProjection]);
  std::ranges::fill(Part(parameters, vectors[kBiases + 1]), 1.0f);
  return parameters;
}

void NormaliseEmbedding(const WordLstmShape& shape, std::span<float> parameters) {
  std::vector<float> inverse_norms(static_cast<std::size_t>(shape.vocab_size));
  NormaliseRows(parameters.data(), shape.vocab_size, shape.width, parameters.data(),
                inverse_norms.data());
}

// All [rows of a batch] tensors have time first: row t * rows + r is step t of row r.
struct WordLstm::Scratch {
  Scratch(const WordLstmShape& shape, std::int64_t rows, std::int64_t steps)
      : normalised(torch::empty({shape.vocab_size, shape.width})),
        inverse_norms(torch::empty({shape.vocab_size})),
        embedding_gradient(torch::empty({shape.vocab_size, shape.width})),
        cell_inputs(torch::empty({rows * steps, shape.width + shape.units})),
        gates(torch::empty({rows * steps, kGates * shape.units})),
        cells_before(torch::empty({rows * steps, shape.units})),
        cell_tanhs(torch::empty({rows * steps, shape.units})),
        outputs(torch::empty({rows * steps, shape.units})),
        output_gradients(torch::empty({rows * steps, shape.units})),
        projected(torch::empty({rows * steps, shape.width})),
        projected_gradients(torch::empty({rows * steps, shape.width})),
        input_gradients(torch::empty({rows * steps, shape.width})),
        logits(torch::empty({rows * steps, shape.vocab_size})),
        cell_state(torch::zeros({rows, shape.units})),
        output_state(torch::zeros({rows, shape.units})),
        cell_gradient(torch::empty({rows, shape.units})) {}

  at::Tensor normalised;           // [V, E] embeddings of norm 1
  at::Tensor inverse_norms;        // [V]
  at::Tensor embedding_gradient;   // [V, E] with respect to `normalised`
  at::Tensor cell_inputs;          // [., E + H] embedding, the cell's last output
  at::Tensor gates;                // [., 4H] activations; in the way back the gradients before them
  at::Tensor cells_before;         // [., H] c of the step before
  at::Tensor cell_tanhs;           // [., H] tanh(c)
  at::Tensor outputs;              // [., H] h
  at::Tensor output_gradients;     // [., H]
  at::Tensor projected;            // [., E]
  at::Tensor projected_gradients;  // [., E]
  at::Tensor input_gradients;      // [., E]
  at::Tensor logits;               // [., V]
  at::Tensor cell_state;           // [R, H]
  at::Tensor output_state;         // [R, H]
  at::Tensor cell_gradient;        // [R, H]

  // Views of the parameters.
  at::Tensor kernels;          // [4H, E + H]
  at::Tensor biases;           // [4H]
  at::Tensor projection;       // [H, E]
  at::Tensor projection_bias;  // [E]
};

WordLstm::WordLstm(const WordLstmShape& shape, int most_rows, int most_steps)
    : shape_(shape),
      vectors_(WordLstmVectors(shape)),
      scratch_(std::make_unique<Scratch>(shape, most_rows, most_steps)) {}

WordLstm::~WordLstm() = default;

void WordLstm::ResetState() {
  scratch_->cell_state.zero_();
  scratch_->output_state.zero_();
}

void WordLstm::SetParameters(std::span<const float> parameters) {
  SUBMIX_CHECK(parameters.size() == vectors_.back().end, "parameters of another shape");
  Scratch& s = *scratch_;
  NormaliseRows(parameters.data(), shape_.vocab_size, shape_.width, s.normalised.data_ptr<float>(),
                s.inverse_norms.data_ptr<float>());
  const auto view = [&](int vector, at::IntArrayRef extents) {
    return View(parameters.data() + vectors_[vector].begin, extents);
  };
  s.kernels = view(kKernels, {kGates * shape_.units, shape_.width + shape_.units});
  s.biases = view(kBiases, {kGates * shape_.units});
  s.projection = view(kProjection, {shape_.units, shape_.width});
  s.projection_bias = view(kProjectionBias, {shape_.width});
}

// c = forget * c + input * candidate, h = output * tanh(c), from the activated gates.
void WordLstm::CellForward(const WordBatch& batch, int step) {
  Scratch& s = *scratch_;
  const std::int64_t units = shape_.units;
  for (int r = 0; r < batch.rows; ++r) {
    const std::int64_t at = static_cast<std::int64_t>(step) * batch.rows + r;
    const float* gates = s.gates.data_ptr<float>() + at * kGates * units;
    float* cell = s.cell_state.data_ptr<float>() + r * units;
    std::memcpy(s.cells_before.data_ptr<float>() + at * units, cell,
                static_cast<std::size_t>(units) * sizeof(float));
    for (std::int64_t j = 0; j < units; ++j) {
      cell[j] = gates[units + j] * cell[j] + gates[j] * gates[3 * units + j];
    }
  }
  const std::int64_t begin = static_cast<std::int64_t>(step) * batch.rows;
  at::Tensor tanhs = s.cell_tanhs.narrow(0, begin, batch.rows);
  at::tanh_out(tanhs, s.cell_state.narrow(0, 0, batch.rows));
  at::Tensor outputs = s.outputs.narrow(0, begin, batch.rows);
  at::mul_out(outputs, tanhs, s.gates.narrow(0, begin, batch.rows).narrow(1, 2 * units, units));
  s.output_state.narrow(0, 0, batch.rows).copy_(outputs);
}

void WordLstm::Forward(const WordBatch& batch) {
  Scratch& s = *scratch_;
  const std::int64_t rows = batch.rows;
  const std::int64_t count = rows * batch.steps;
  const std::int64_t width = shape_.width;
  const std::int64_t units = shape_.units;
  SUBMIX_CHECK(s.kernels.defined(), "no parameters");
  SUBMIX_CHECK(std::ssize(batch.inputs) == count && std::ssize(batch.targets) == count &&
                   rows <= s.cell_state.size(0) && count <= s.logits.size(0),
               "a batch that does not fit");
  const float* normalised = s.normalised.data_ptr<float>();
  float* inputs = s.cell_inputs.data_ptr<float>();
  for (std::int64_t i = 0; i < count; ++i) {
    SUBMIX_CHECK(batch.inputs[i] >= 0 && batch.inputs[i] < shape_.vocab_size, "not a word");
    std::memcpy(inputs + i * (width + units), normalised + batch.inputs[i] * width,
                static_cast<std::size_t>(width) * sizeof(float));
  }
  at::Tensor gates = s.gates.narrow(0, 0, count);
  at::addmm_out(gates, s.biases, s.cell_inputs.narrow(0, 0, count).narrow(1, 0, width),
                s.kernels.narrow(1, 0, width).t());
  const at::Tensor recurrent = s.kernels.narrow(1, width, units).t();
  for (int step = 0; step < batch.steps; ++step) {
    const std::int64_t begin = step * rows;
    for (std::int64_t r = 0; r < rows; ++r) {
      if (batch.inputs[begin + r] != WordVocabulary::kBeginning) continue;
      s.cell_state.select(0, r).zero_();
      s.output_state.select(0, r).zero_();
    }
    const at::Tensor before = s.output_state.narrow(0, 0, rows);
    s.cell_inputs.narrow(0, begin, rows).narrow(1, width, units).copy_(before);
    at::Tensor now = gates.narrow(0, begin, rows);
    now.addmm_(before, recurrent);
    now.narrow(1, 0, 3 * units).sigmoid_();
    now.narrow(1, 3 * units, units).tanh_();
    CellForward(batch, step);
  }
  at::Tensor projected = s.projected.narrow(0, 0, count);
  at::addmm_out(projected, s.projection_bias, s.outputs.narrow(0, 0, count), s.projection);
  at::Tensor logits = s.logits.narrow(0, 0, count);
  at::mm_out(logits, projected, s.normalised.t());
}

// From dL/dh (in output_gradients) and dL/dc of the step behind to dL/d(gates before activation),
// in place of the activations, and dL/dc of the step before.
void WordLstm::CellBackward(const WordBatch& batch, int step) {
  Scratch& s = *scratch_;
  const std::int64_t units = shape_.units;
  for (int r = 0; r < batch.rows; ++r) {
    const std::int64_t at = static_cast<std::int64_t>(step) * batch.rows + r;
    float* gates = s.gates.data_ptr<float>() + at * kGates * units;
    const float* output_gradient = s.output_gradients.data_ptr<float>() + at * units;
    const float* cell_before = s.cells_before.data_ptr<float>() + at * units;
    const float* tanhs = s.cell_tanhs.data_ptr<float>() + at * units;
    float* cell_gradient = s.cell_gradient.data_ptr<float>() + r * units;
    const bool is_beginning = batch.inputs[at] == WordVocabulary::kBeginning;
    for (std::int64_t j = 0; j < units; ++j) {
      const float input = gates[j];
      const float forget = gates[units + j];
      const float output = gates[2 * units + j];
      const float candidate = gates[3 * units + j];
      const float d_cell =
          cell_gradient[j] + output_gradient[j] * output * (1 - tanhs[j] * tanhs[j]);
      gates[j] = d_cell * candidate * input * (1 - input);
      gates[units + j] = d_cell * cell_before[j] * forget * (1 - forget);
      gates[2 * units + j] = output_gradient[j] * tanhs[j] * output * (1 - output);
      gates[3 * units + j] = d_cell * input * (1 - candidate * candidate);
      cell_gradient[j] = is_beginning ? 0.0f : d_cell * forget;
    }
  }
}

void WordLstm::BackwardThroughTime(const WordBatch& batch) {
  Scratch& s = *scratch_;
  const std::int64_t rows = batch.rows;
  s.cell_gradient.zero_();
  const at::Tensor recurrent = s.kernels.narrow(1, shape_.width, shape_.units);
  for (int step = batch.steps - 1; step >= 0; --step) {
    CellBackward(batch, step);
    if (step == 0) break;
    const std::int64_t begin = step * rows;
    const at::Tensor output_gradient =
        at::mm(s.gates.narrow(0, begin, rows), recurrent);  // of the step before
    for (std::int64_t r = 0; r < rows; ++r) {
      if (batch.inputs[begin + r] == WordVocabulary::kBeginning) continue;
      s.output_gradients.select(0, begin - rows + r).add_(output_gradient.select(0, r));
    }
  }
}

double WordLstm::Gradient(const WordBatch& batch, float weight, std::span<float> gradient) {
  SUBMIX_CHECK(gradient.size() == vectors_.back().end, "a gradient of another shape");
  const at::NoGradGuard no_grad;
  Forward(batch);
  Scratch& s = *scratch_;
  const std::int64_t count = static_cast<std::int64_t>(batch.rows) * batch.steps;
  const std::int64_t width = shape_.width;
  const std::int64_t vocab_size = shape_.vocab_size;
  double loss = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    SUBMIX_CHECK(batch.targets[i] < vocab_size, "not a word");
    loss += SoftmaxCrossEntropyRow(s.logits.data_ptr<float>() + i * vocab_size, vocab_size,
                                   batch.targets[i], weight);
  }
  const at::Tensor d_logits = s.logits.narrow(0, 0, count);
  at::Tensor d_projected = s.projected_gradients.narrow(0, 0, count);
  at::mm_out(d_projected, d_logits, s.normalised);
  at::mm_out(s.embedding_gradient, d_logits.t(), s.projected.narrow(0, 0, count));

  const auto view = [&](int vector, at::IntArrayRef extents) {
    return View(gradient.data() + vectors_[vector].begin, extents);
  };
  at::Tensor d_projection = view(kProjection, {shape_.units, width});
  at::mm_out(d_projection, s.outputs.narrow(0, 0, count).t(), d_projected);
  at::Tensor d_projection_bias = view(kProjectionBias, {width});
  at::sum_out(d_projection_bias, d_projected, 0);
  at::Tensor d_outputs = s.output_gradients.narrow(0, 0, count);
  at::mm_out(d_outputs, d_projected, s.projection.t());

  BackwardThroughTime(batch);
  const at::Tensor d_gates = s.gates.narrow(0, 0, count);
  at::Tensor d_kernels = view(kKernels, {kGates * shape_.units, width + shape_.units});
  at::mm_out(d_kernels, d_gates.t(), s.cell_inputs.narrow(0, 0, count));
  at::Tensor d_biases = view(kBiases, {kGates * shape_.units});
  at::sum_out(d_biases, d_gates, 0);
  at::Tensor d_inputs = s.input_gradients.narrow(0, 0, count);
  at::mm_out(d_inputs, d_gates, s.kernels.narrow(1, 0, width));

  float* d_normalised = s.embedding_gradient.data_ptr<float>();
  for (std::int64_t i = 0; i < count; ++i) {
    const float* from = d_inputs.data_ptr<float>() + i * width;
    float* to = d_normalised + batch.inputs[i] * width;
    for (std::int64_t j = 0; j < width; ++j) to[j] += from[j];
  }
  // Through e = v / |v|: dv = (de - (de . e) e) / |v|.
  const float* normalised = s.normalised.data_ptr<float>();
  const float* inverse_norms = s.inverse_norms.data_ptr<float>();
  for (std::int64_t w = 0; w < vocab_size; ++w) {
    const float* e = normalised + w * width;
    const float* de = d_normalised + w * width;
    float* dv = gradient.data() + w * width;
    float along = 0;
    for (std::int64_t j = 0; j < width; ++j) along += de[j] * e[j];
    for (std::int64_t j = 0; j < width; ++j) dv[j] = (de[j] - along * e[j]) * inverse_norms[w];
  }
  return loss;
}

void WordLstm::Predict(
    const WordBatch& batch,
    const std::function<void(TokenId target, std::span<float> logits)>& row_sink) {
  const at::NoGradGuard no_grad;
  Forward(batch);
  float* logits = scratch_->logits.data_ptr<float>();
  for (std::size_t i = 0; i < batch.targets.size(); ++i) {
    if (batch.targets[i] < 0) continue;
    row_sink(batch.targets[i], {logits + i * static_cast<std::size_t>(shape_.vocab_size),
                                static_cast<std::size_t>(shape_.vocab_size)});
  }
}

}  // namespace submix::train
