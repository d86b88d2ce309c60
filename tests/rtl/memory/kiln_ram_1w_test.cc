// Compares kiln_ram_1w with an array: random writes and reads, often of the same address in one
// cycle.
#include <array>

#include "Vram_1_read.h"
#include "Vram_2_reads.h"
#include "tests/rtl/support.h"

namespace kiln::rtl {
namespace {

constexpr size_t kWords = 11;  // few, and no power of two
constexpr int kWidth = 24, kAddressBits = 4;

template <typename Model>
void MatchesArray(int reads) {
  Simulation<Model> ram(7);
  Random random(7);
  std::array<uint32_t, kWords> model = {};
  ram->read_enable = 0;
  for (size_t i = 0; i < kWords; ++i) {  // what has not been written is unknown
    ram->write_enable = 1;
    ram->write_address = static_cast<uint8_t>(i);
    ram->write_data = model[i] = static_cast<uint32_t>(random.Below(1 << kWidth));
    ram.Step();
  }
  std::array<uint32_t, 2> expected = {};
  std::array<bool, 2> known = {};
  int collisions = 0, held = 0;
  for (int t = 0; t < 5000; ++t) {
    const auto write_address = static_cast<uint8_t>(random.Below(kWords));
    ram->write_enable = random.Below(2) == 1;
    ram->write_address = write_address;
    ram->write_data = static_cast<uint32_t>(random.Below(1 << kWidth));
    unsigned enables = 0, addresses = 0;
    for (int port = 0; port < reads; ++port) {
      const size_t address = random.Below(3) == 0 ? write_address : random.Below(kWords);
      addresses |= static_cast<unsigned>(address) << (port * kAddressBits);
      if (random.Below(4) != 0) {
        enables |= 1u << port;
        expected[static_cast<size_t>(port)] =
            model[address];  // as it was before this cycle's write
        known[static_cast<size_t>(port)] = true;
        collisions += ram->write_enable && address == write_address;
      } else {
        ++held;
      }
    }
    ram->read_enable = static_cast<uint8_t>(enables);
    ram->read_address = static_cast<uint8_t>(addresses);
    if (ram->write_enable) {
      model[write_address] = ram->write_data;
    }
    ram.Step();
    for (int port = 0; port < reads; ++port) {
      if (known[static_cast<size_t>(port)]) {
        const uint64_t word = (uint64_t{ram->read_data} >> (port * kWidth)) & ((1u << kWidth) - 1);
        ASSERT_EQ(word, expected[static_cast<size_t>(port)]) << "port " << port << " cycle " << t;
      }
    }
  }
  EXPECT_GT(collisions, 100);
  EXPECT_GT(held, 100);
}

TEST(Ram1w, MatchesArray) {
  MatchesArray<Vram_1_read>(1);
  MatchesArray<Vram_2_reads>(2);
}

}  // namespace
}  // namespace kiln::rtl
