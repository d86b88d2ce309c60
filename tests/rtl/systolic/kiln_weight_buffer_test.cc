// Compares kiln_weight_buffer with a plain array: tiles are written by rows or by columns and read
// by rows.
#include "Vweight_buffer_2x8.h"
#include "Vweight_buffer_4x4.h"
#include "Vweight_buffer_8x2.h"
#include "tests/rtl/support.h"

namespace kiln::rtl {
namespace {

constexpr int kTiles = 3;  // of a bank; the models have 3 * rows + 1 words

template <typename Model>
void GivesBackWhatWasWritten(int rows, int columns, int rows_per_cycle, uint64_t seed) {
  Random random(seed);
  Simulation<Model> buffer(seed);
  std::vector<uint8_t> codes(
      static_cast<size_t>(2 * kTiles * rows * columns));  // [bank][tile][row][column]
  const auto code = [&](int bank, int tile, int row, int column) -> uint8_t& {
    return codes[static_cast<size_t>(((bank * kTiles + tile) * rows + row) * columns + column)];
  };
  buffer->write_enable = 0;
  buffer->read_enable = 0;
  buffer.Settle();
  const auto write_tile = [&](int bank, int tile) {
    const bool transposed = random.Below(2) == 0;
    const int lanes = transposed ? rows : columns;
    for (int index = 0; index < (transposed ? columns : rows); ++index) {
      std::vector<uint8_t> data(static_cast<size_t>(std::max(rows, columns)));
      for (uint8_t& c : data) c = static_cast<uint8_t>(random.Below(256));
      for (int i = 0; i < lanes; ++i) {
        (transposed ? code(bank, tile, i, index) : code(bank, tile, index, i)) =
            data[static_cast<size_t>(i)];
      }
      buffer->write_enable = 1;
      buffer->write_bank = static_cast<uint8_t>(bank);
      buffer->write_tile = static_cast<uint8_t>(tile);
      buffer->write_transposed = transposed;
      buffer->write_index = static_cast<uint8_t>(index);
      SetBytes(buffer->write_data, data);
      buffer.Step();
    }
    buffer->write_enable = 0;
  };
  for (int bank = 0; bank < 2; ++bank) {
    for (int tile = 0; tile < kTiles; ++tile) write_tile(bank, tile);
  }
  for (int i = 0; i < 200; ++i) {
    if (random.Below(4) == 0)
      write_tile(static_cast<int>(random.Below(2)), static_cast<int>(random.Below(kTiles)));
    const int bank = static_cast<int>(random.Below(2)),
              tile = static_cast<int>(random.Below(kTiles));
    const int step = static_cast<int>(random.Below(static_cast<uint64_t>(rows / rows_per_cycle)));
    buffer->read_enable = 1;
    buffer->read_bank = static_cast<uint8_t>(bank);
    buffer->read_tile = static_cast<uint8_t>(tile);
    buffer->read_step = static_cast<uint8_t>(step);
    buffer.Step();
    buffer->read_enable = 0;
    buffer->read_step =
        static_cast<uint8_t>(random.Below(static_cast<uint64_t>(rows / rows_per_cycle)));
    if (random.Below(2) == 0) buffer.Step();  // the data stay
    const std::vector<uint8_t> data =
        GetBytes(buffer->read_data, static_cast<size_t>(rows_per_cycle * columns));
    for (int j = 0; j < rows_per_cycle; ++j) {
      for (int c = 0; c < columns; ++c) {
        ASSERT_EQ(data[static_cast<size_t>(j * columns + c)],
                  code(bank, tile, step * rows_per_cycle + j, c))
            << "bank " << bank << ", tile " << tile << ", step " << step << ", row " << j
            << ", column " << c;
      }
    }
  }
}

TEST(WeightBuffer, GivesBackWhatWasWritten) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    GivesBackWhatWasWritten<Vweight_buffer_4x4>(4, 4, 1, seed);
    GivesBackWhatWasWritten<Vweight_buffer_8x2>(8, 2, 2, seed);
    GivesBackWhatWasWritten<Vweight_buffer_2x8>(2, 8, 2, seed);
  }
}

}  // namespace
}  // namespace kiln::rtl
