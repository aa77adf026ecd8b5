// Written with the processor's own operations. Compiled without fused products: results are the
// same bits on every processor where sums are.
#include "submix/decode/narrow_kernels.h"

#include <algorithm>
#include <type_traits>

#include "submix/base/check.h"
#include "submix/base/instruction_sets.h"

#if defined(__x86_64__)
#include <immintrin.h>

// For both kinds of numbers: compilers emit neither's operations unless they are written.
#define SUBMIX_NARROW \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512bf16")))
#define SUBMIX_NARROW_INLINE __attribute__((always_inline)) inline SUBMIX_NARROW
#define SUBMIX_TILES __attribute__((target("avx512f,amx-tile,amx-int8,amx-bf16")))

namespace submix::decode {
namespace {

// Rows of a tile of results: two of AMX's.
constexpr int kTileRows = 32;
constexpr int kHalfRows = kTileRows / 2;
constexpr std::size_t kTileBytes = kNarrowStep * kPanelColumns * sizeof(std::uint32_t);
constexpr std::size_t kLineBytes = 64;
// Rows whose activations stay in the second-level cache beside a block's panels.
constexpr int kChunkRows = 3 * kTileRows;
// A last chunk of few rows would read the panels for little.
constexpr int kMostChunkRows = 4 * kTileRows;

// Some rows of activations times one panel. Meanwhile `ahead` is fetched into the second-level
// cache, so many lines for every kNarrowStep words.
template <typename Sum>
struct Tile {
  const std::byte* weights = nullptr;
  const std::byte* x = nullptr;
  std::size_t x_stride = 0;
  int rows = 0;  // 1 .. kTileRows
  int words = 0;
  const std::byte* ahead = nullptr;
  int ahead_lines = 0;
  const ByteColumns* columns = nullptr;  // behind a panel of bytes
  Sum* sums = nullptr;                   // [rows, kPanelColumns], 64-byte aligned
};

void FetchAhead(const std::byte*& ahead, int lines) {
  for (int line = 0; line < lines; ++line, ahead += kLineBytes) __builtin_prefetch(ahead, 0, 2);
}

// --- AVX-512

// Rows that are summed in registers at a time.
constexpr int kRegisterRows = 12;

SUBMIX_NARROW_INLINE __m512 AddWord(__m512 sum, std::uint32_t x, __m512i weights) {
  const __m512i words = _mm512_set1_epi32(static_cast<int>(x));
  return _mm512_dpbf16_ps(sum, (__m512bh)words, (__m512bh)weights);
}
SUBMIX_NARROW_INLINE __m512i AddWord(__m512i sum, std::uint32_t x, __m512i weights) {
  const __m512i words = _mm512_set1_epi32(static_cast<int>(x ^ 0x80808080u));
  return _mm512_dpbusd_epi32(sum, words, weights);
}

SUBMIX_NARROW_INLINE __m512 FirstSum(const Tile<float>&, int) { return _mm512_setzero_ps(); }
SUBMIX_NARROW_INLINE __m512i FirstSum(const Tile<std::int32_t>& tile, int vector) {
  const __m512i excess = _mm512_loadu_si512(tile.columns->excess + kVectorLength * vector);
  return _mm512_sub_epi32(_mm512_setzero_si512(), excess);
}

SUBMIX_NARROW_INLINE void StoreSums(__m512 sums, float* out) { _mm512_store_ps(out, sums); }
SUBMIX_NARROW_INLINE void StoreSums(__m512i sums, std::int32_t* out) {
  _mm512_store_si512(out, sums);
}

template <typename Sum, int kRows>
SUBMIX_NARROW void SumInRegisters(const Tile<Sum>& tile) {
  decltype(FirstSum(tile, 0)) sums[kRows][2];
  for (int m = 0; m < kRows; ++m) {
    sums[m][0] = FirstSum(tile, 0);
    sums[m][1] = FirstSum(tile, 1);
  }
  const std::byte* weights = tile.weights;
  const std::byte* ahead = tile.ahead;
  for (int word = 0; word < tile.words; ++word, weights += 2 * kLineBytes) {
    if (word % kNarrowStep == 0) FetchAhead(ahead, tile.ahead_lines);
    const __m512i first = _mm512_load_si512(weights);
    const __m512i second = _mm512_load_si512(weights + kLineBytes);
    for (int m = 0; m < kRows; ++m) {
      const std::uint32_t x = reinterpret_cast<const std::uint32_t*>(
          tile.x + static_cast<std::size_t>(m) * tile.x_stride)[word];
      sums[m][0] = AddWord(sums[m][0], x, first);
      sums[m][1] = AddWord(sums[m][1], x, second);
    }
  }
  for (int m = 0; m < kRows; ++m) {
    StoreSums(sums[m][0], tile.sums + m * kPanelColumns);
    StoreSums(sums[m][1], tile.sums + m * kPanelColumns + kVectorLength);
  }
}

template <typename Sum, int kRows>
void SumSomeRows(const Tile<Sum>& tile) {
  if constexpr (kRows > 0) {
    if (tile.rows == kRows) {
      SumInRegisters<Sum, kRows>(tile);
    } else {
      SumSomeRows<Sum, kRows - 1>(tile);
    }
  }
}

template <typename Sum>
void SumByVectors(const Tile<Sum>& tile) {
  const int parts = (tile.rows + kRegisterRows - 1) / kRegisterRows;
  Tile<Sum> part = tile;
  for (int i = 0; i < parts; ++i) {
    const int begin = tile.rows * i / parts;
    part.rows = tile.rows * (i + 1) / parts - begin;
    part.x = tile.x + static_cast<std::size_t>(begin) * tile.x_stride;
    part.sums = tile.sums + begin * kPanelColumns;
    SumSomeRows<Sum, kRegisterRows>(part);
    part.ahead_lines = 0;
  }
}

// --- AMX: results in tiles 0 to 3, activations in 4 and 5, weights in 6 and 7.

// As the processor reads it.
struct alignas(64) TileShapes {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
};
// `second` may be 0.
TileShapes ShapesFor(int first, int second) {
  TileShapes shapes;
  const int rows[] = {first, first, second, second, first, second, 16, 16};
  for (std::size_t i = 0; i < std::size(rows); ++i) {
    shapes.rows[i] = static_cast<std::uint8_t>(rows[i]);
    shapes.row_bytes[i] = rows[i] == 0 ? 0 : kLineBytes;
  }
  return shapes;
}

template <typename Sum>
SUBMIX_TILES void SumByTiles(const Tile<Sum>& tile) {
  const int first = std::min(tile.rows, kHalfRows);
  const int second = tile.rows - first;
  const TileShapes shapes = ShapesFor(first, second);
  // The compiler does not know that loads of tiles read memory.
  __asm__ volatile("" ::: "memory");
  _tile_loadconfig(&shapes);
  _tile_zero(0);
  _tile_zero(1);
  if (second > 0) {
    _tile_zero(2);
    _tile_zero(3);
  }
  const std::byte* weights = tile.weights;
  const std::byte* x = tile.x;
  const std::byte* const x_second = x + kHalfRows * tile.x_stride;
  const std::byte* ahead = tile.ahead;
  for (int word = 0; word < tile.words; word += kNarrowStep, weights += kTileBytes) {
    const std::size_t column = static_cast<std::size_t>(word) * sizeof(std::uint32_t);
    FetchAhead(ahead, tile.ahead_lines);
    _tile_loadd(6, weights, 2 * kLineBytes);
    _tile_loadd(7, weights + kLineBytes, 2 * kLineBytes);
    _tile_loadd(4, x + column, tile.x_stride);
    if (second > 0) _tile_loadd(5, x_second + column, tile.x_stride);
    if constexpr (std::is_same_v<Sum, float>) {
      _tile_dpbf16ps(0, 4, 6);
      _tile_dpbf16ps(1, 4, 7);
      if (second == 0) continue;
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    } else {
      _tile_dpbssd(0, 4, 6);
      _tile_dpbssd(1, 4, 7);
      if (second == 0) continue;
      _tile_dpbssd(2, 5, 6);
      _tile_dpbssd(3, 5, 7);
    }
  }
  constexpr std::size_t kStride = kPanelColumns * sizeof(Sum);
  _tile_stored(0, tile.sums, kStride);
  _tile_stored(1, tile.sums + kVectorLength, kStride);
  if (second == 0) return;
  _tile_stored(2, tile.sums + kHalfRows * kPanelColumns, kStride);
  _tile_stored(3, tile.sums + kHalfRows * kPanelColumns + kVectorLength, kStride);
}

// Others on this thread find the tiles as if never used.
SUBMIX_TILES void ReleaseTiles() { _tile_release(); }

// --- integers of 4 bits

// Rows of groups that are summed in registers at a time.
constexpr int kGroupRows = 6;
constexpr int kGroupWords = kGroupInputs / IntegerGroup<4>::kInputsAWord;

// Some rows times one panel.
struct GroupTile {
  const IntegerGroup<4>* groups = nullptr;
  int count = 0;
  const std::byte* x = nullptr;
  std::size_t x_stride = 0;
  const std::byte* ahead = nullptr;  // the next panel, fetched meanwhile; or null
  float* sums = nullptr;             // [rows, kPanelColumns], 64-byte aligned
};

// The integers in the lower halves of bytes, as bytes.
SUBMIX_NARROW_INLINE __m512i BytesOf(__m512i halves) {
  const __m512i integers =
      _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1));
  return _mm512_shuffle_epi8(integers, _mm512_and_si512(halves, _mm512_set1_epi8(0x0f)));
}

// A group's scales of a panel's first or second vector.
SUBMIX_NARROW_INLINE __m512 ScalesOf(const IntegerGroup<4>& group, int vector) {
  const __m512i pairs = _mm512_loadu_si512(group.scales);
  return _mm512_castsi512_ps(vector == 0 ? _mm512_slli_epi32(pairs, 16)
                                         : _mm512_and_si512(pairs, _mm512_set1_epi32(-65536)));
}

// The bytes of a word of a group are four inputs: in their lower halves of a column of the first
// vector, in their upper ones of the second's.
template <int kRows>
SUBMIX_NARROW void SumGroups(const GroupTile& tile) {
  __m512 sums[kRows][2];
  for (int m = 0; m < kRows; ++m) sums[m][0] = sums[m][1] = _mm512_setzero_ps();
  const __m512i all_128 = _mm512_set1_epi8(-128);
  const std::byte* ahead = tile.ahead;
  for (int g = 0; g < tile.count; ++g) {
    const IntegerGroup<4>& group = tile.groups[g];
    if (ahead != nullptr) FetchAhead(ahead, sizeof(group) / kLineBytes);
    // With what activations that have 128 added bring too much.
    __m512i integers[kRows][2], excess[2];
    for (int v = 0; v < 2; ++v) {
      excess[v] = _mm512_setzero_si512();
      for (int m = 0; m < kRows; ++m) integers[m][v] = _mm512_setzero_si512();
    }
    for (int word = 0; word < kGroupWords; ++word) {
      const __m512i halves = _mm512_loadu_si512(group.words[word]);
      const __m512i weights[] = {BytesOf(halves), BytesOf(_mm512_srli_epi32(halves, 4))};
      for (int v = 0; v < 2; ++v) excess[v] = _mm512_dpbusd_epi32(excess[v], all_128, weights[v]);
      for (int m = 0; m < kRows; ++m) {
        const std::uint32_t x = reinterpret_cast<const std::uint32_t*>(
            tile.x + static_cast<std::size_t>(m) * tile.x_stride)[g * kGroupWords + word];
        for (int v = 0; v < 2; ++v) integers[m][v] = AddWord(integers[m][v], x, weights[v]);
      }
    }
    for (int v = 0; v < 2; ++v) {
      const __m512 scales = ScalesOf(group, v);
      for (int m = 0; m < kRows; ++m) {
        const __m512i exact = _mm512_sub_epi32(integers[m][v], excess[v]);
        sums[m][v] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(exact), scales, sums[m][v]);
      }
    }
  }
  for (int m = 0; m < kRows; ++m) {
    StoreSums(sums[m][0], tile.sums + m * kPanelColumns);
    StoreSums(sums[m][1], tile.sums + m * kPanelColumns + kVectorLength);
  }
}

template <int kRows>
void SumGroupsOfRows(const GroupTile& tile, int rows) {
  if constexpr (kRows > 0) {
    if (rows == kRows) {
      SumGroups<kRows>(tile);
    } else {
      SumGroupsOfRows<kRows - 1>(tile, rows);
    }
  }
}

// --- results

SUBMIX_NARROW_INLINE __m512 Scaled(const float* sums, float row_scale, const ByteColumns*, int) {
  return _mm512_mul_ps(_mm512_load_ps(sums), _mm512_set1_ps(row_scale));
}
SUBMIX_NARROW_INLINE __m512 Scaled(const std::int32_t* sums, float row_scale,
                                   const ByteColumns* columns, int begin) {
  const __m512 scales = _mm512_loadu_ps(columns->scales + begin);
  const __m512 values = _mm512_cvtepi32_ps(_mm512_load_si512(sums));
  return _mm512_mul_ps(values, _mm512_mul_ps(_mm512_set1_ps(row_scale), scales));
}

// Of a tile whose first row and column these are.
template <typename Sum>
SUBMIX_NARROW void WriteResults(const NarrowRows& o, const Tile<Sum>& tile, int row, int column) {
  for (int half = 0; half < 2; ++half) {
    const int begin = half * kVectorLength;
    const int count = std::clamp(o.columns - column - begin, 0, kVectorLength);
    if (count == 0) return;
    const auto mask = static_cast<__mmask16>((1u << count) - 1);
    const __m512 bias = o.bias == nullptr ? _mm512_setzero_ps()
                                          : _mm512_maskz_loadu_ps(mask, o.bias + column + begin);
    for (int m = 0; m < tile.rows; ++m) {
      const auto at = static_cast<std::size_t>(row + m);
      const float scale = o.x_scales == nullptr ? 1 : o.x_scales[at];
      __m512 values = Scaled(tile.sums + m * kPanelColumns + begin, scale, tile.columns, begin);
      if (o.bias != nullptr) values = _mm512_add_ps(values, bias);
      _mm512_mask_storeu_ps(o.results + at * o.results_stride + column + begin, mask, values);
    }
  }
}

template <typename Sum>
void MultiplyChunk(const NarrowOperands<Sum>& o, int row, int rows, bool is_amx) {
  alignas(64) Sum sums[kTileRows * kPanelColumns];
  const std::size_t panel_bytes = NarrowPanelBytes<Sum>(o.words);
  const int tiles = (rows + kTileRows - 1) / kTileRows;
  Tile<Sum> tile{.x_stride = o.x_stride, .words = o.words, .sums = sums};
  // Each tile of the first chunk fetches its share of the next panel.
  tile.ahead_lines = row == 0 ? 2 * kNarrowStep / tiles : 0;
  for (int column = 0; column < o.columns; column += kPanelColumns) {
    tile.weights = o.panels + static_cast<std::size_t>(column / kPanelColumns) * panel_bytes;
    if constexpr (std::is_integral_v<Sum>) {
      tile.columns =
          reinterpret_cast<const ByteColumns*>(tile.weights + panel_bytes - sizeof(ByteColumns));
    }
    tile.ahead = tile.weights + panel_bytes;
    for (int i = 0; i < tiles; ++i) {
      const int begin = row + rows * i / tiles;
      tile.rows = row + rows * (i + 1) / tiles - begin;
      tile.x = o.x + static_cast<std::size_t>(begin) * o.x_stride;
      if (is_amx) {
        SumByTiles(tile);
      } else {
        SumByVectors(tile);
      }
      WriteResults(o, tile, begin, column);
      tile.ahead += static_cast<std::size_t>(o.words / kNarrowStep * tile.ahead_lines) * kLineBytes;
    }
  }
}

}  // namespace

template <typename Sum>
void MultiplyNarrow(const NarrowOperands<Sum>& operands) {
  const bool is_amx = base::ChosenInstructionSet() >= base::InstructionSet::kAmx;
  for (int row = 0, rows = 0; row < operands.rows; row += rows) {
    const int left = operands.rows - row;
    rows = left <= kMostChunkRows ? left : kChunkRows;
    MultiplyChunk(operands, row, rows, is_amx);
  }
  if (is_amx) ReleaseTiles();
}

void MultiplyGroups(const GroupOperands& o) {
  alignas(64) float sums[kGroupRows * kPanelColumns];
  const int tiles = (o.rows + kGroupRows - 1) / kGroupRows;
  GroupTile tile{.count = o.groups_a_panel, .x_stride = o.x_stride, .sums = sums};
  for (int column = 0; column < o.columns; column += kPanelColumns) {
    tile.groups = o.groups + static_cast<std::size_t>(column / kPanelColumns) *
                                 static_cast<std::size_t>(o.groups_a_panel);
    tile.ahead = reinterpret_cast<const std::byte*>(tile.groups + o.groups_a_panel);
    for (int i = 0; i < tiles; ++i) {
      const int begin = o.rows * i / tiles;
      const int rows = o.rows * (i + 1) / tiles - begin;
      tile.x = o.x + static_cast<std::size_t>(begin) * o.x_stride;
      SumGroupsOfRows<kGroupRows>(tile, rows);
      WriteResults<float>(o, {.rows = rows, .sums = sums}, begin, column);
      tile.ahead = nullptr;
    }
  }
}

}  // namespace submix::decode
#else
namespace submix::decode {

template <typename Sum>
void MultiplyNarrow(const NarrowOperands<Sum>&) {
  SUBMIX_CHECK(false, "no processor but x86-64 is said to multiply narrow numbers");
}
void MultiplyGroups(const GroupOperands&) {
  SUBMIX_CHECK(false, "no processor but x86-64 is said to multiply narrow numbers");
}

}  // namespace submix::decode
#endif

namespace submix::decode {

template void MultiplyNarrow(const NarrowOperands<float>&);
template void MultiplyNarrow(const NarrowOperands<std::int32_t>&);

}  // namespace submix::decode
