// Compares kiln_multiply_accumulate, kiln_accumulate and kiln_decode_to_fp32 with quires against
// kiln::Quire, over every pair of 8-bit codes and over random row tiles, some with numbers that
// cancel, some with infinities and NaN.
#include <bit>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "Varith_quire.h"
#include "Varith_quire_registers.h"
#include "gtest/gtest.h"
#include "kiln/numerics/codec.h"
#include "kiln/numerics/mac.h"
#include "kiln/numerics/quire.h"
#include "tests/rtl/arith/fp32_values.h"
#include "tests/rtl/arith/quire_formats.h"
#include "tests/rtl/support.h"

namespace kiln::rtl {
namespace {

TEST(QuireFormats, PackageIsUpToDate) {
  const std::string path = "tests/rtl/arith/quire_formats_pkg.sv";
  const std::string expected = hardware::FormatsPackage(
      "quire_formats_pkg",
      "// Written from tests/rtl/arith/quire_formats.h; kiln_quire_test compares.\n",
      QuireFormats());
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (text.str() == expected) return;
  const std::string made = testing::TempDir() + "quire_formats_pkg.sv";
  std::ofstream(made) << expected;
  ADD_FAILURE() << path << " is out of date; copy " << made << " there";
}

// What one unit of quire_bench.sv should hold.
struct Unit {
  MacRule rule;
  Quire psum, total;
  uint32_t scaled = 0;
};

std::vector<Unit> Units() {
  std::vector<Unit> units;
  for (const auto& [input, weight] : kQuirePairs) {
    Unit unit;
    unit.rule.input = *FindFormat(input);
    unit.rule.weight = *FindFormat(weight);
    unit.rule.quire = unit.rule.scaled = true;
    unit.rule.psum = unit.rule.accumulation = *FindFormat("fp32");
    units.push_back(unit);
  }
  return units;
}

class QuireUnits : public testing::Test {
 protected:
  // One product into every psum; before that, the psums may be accumulated.
  void Step(bool clear, bool accumulate, bool first, uint32_t x, uint32_t w, float scale) {
    model_.clear = clear;
    model_.accumulate = accumulate;
    model_.first = first;
    model_.x = static_cast<uint16_t>(x);
    model_.w = static_cast<uint16_t>(w);
    model_.scale = std::bit_cast<uint32_t>(scale);
    model_.clock = 0;
    model_.eval();
    model_.clock = 1;
    model_.eval();
    for (Unit& unit : units_) {
      if (accumulate) {
        if (first) {
          unit.total = {};
          unit.scaled = 0;
        }
        for (const auto& [a, b] : tile_)
          unit.total.AddProduct(Decode(unit.rule.input, a), Decode(unit.rule.weight, b));
        unit.scaled = AccumulationStep(unit.rule, unit.scaled,
                                       Exact::FromFloat(ToFloat(unit.psum.Value())), scale);
      }
      if (clear) unit.psum = {};
      unit.psum.AddProduct(Decode(unit.rule.input, x), Decode(unit.rule.weight, w));
    }
    if (clear) tile_.clear();
    tile_.emplace_back(x, w);
  }

  void ComparePsums() {
    for (size_t i = 0; i < units_.size(); ++i) {
      ASSERT_EQ(model_.psum[i], Canonical(ToFloat(units_[i].psum.Value()))) << NameOf(i);
    }
  }
  void Compare() {
    ComparePsums();
    for (size_t i = 0; i < units_.size(); ++i) {
      const std::string name = NameOf(i);
      ASSERT_EQ(model_.accumulation[i], Canonical(ToFloat(units_[i].total.Value()))) << name;
      ASSERT_EQ(model_.scaled[i], Canonical(std::bit_cast<float>(units_[i].scaled))) << name;
    }
  }

  std::vector<Unit> units_ = Units();

 private:
  std::string NameOf(size_t i) const {
    return units_[i].rule.input.name + " by " + units_[i].rule.weight.name;
  }

  std::vector<std::pair<uint32_t, uint32_t>> tile_;  // the products of the psum
  VerilatedContext context_;
  Varith_quire model_{&context_};
};

// A register of products has any contents until its first product, and may keep them for long.
TEST(QuireRegisters, AnyFirstContentsAreNoFault) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Simulation<Varith_quire_registers> model(seed);
    model->clear = 1;
    model->x = model->w = 0x40;  // 1 in posit8_1
    for (int cycle = 0; cycle < 3; ++cycle) model.Step();
    ASSERT_STREQ(kQuirePairs[0][0], "posit8_1");
    EXPECT_EQ(std::bit_cast<float>(uint32_t{model->psum[0]}), 1.0f);
  }
}

// One product after the other, four to a psum: infinities and NaN stay until the next four begin.
TEST_F(QuireUnits, EveryPairOfCodes) {
  for (uint32_t codes = 0; codes < 0x10000; ++codes) {
    Step(codes % 4 == 0, false, false, codes >> 8, codes & 0xff, 1.0f);
    ComparePsums();
    if (HasFatalFailure()) return;
  }
}

TEST_F(QuireUnits, RandomRowTiles) {
  Random random(1);
  // Codes with the bits of large magnitudes cleared hold infinities and NaN off for most tiles.
  for (int tile = 0; tile < 6000; ++tile) {
    const uint32_t mask = tile % 8 == 0 ? 0xffff : 0xbbbb;
    const float scale = std::bit_cast<float>(RandomFp32(random) & 0xbfffffffu);
    const uint64_t length = 1 + random() % 12;
    uint32_t x = 0, w = 0;
    for (uint64_t i = 0; i < length; ++i) {
      // Every other product takes away, in signed formats of 16 or 8 bits, what the last one has
      // added.
      const bool opposite = i % 2 == 1 && tile % 2 == 0;
      x = opposite ? x ^ 0x8080 : static_cast<uint32_t>(random()) & mask;
      w = opposite ? w : static_cast<uint32_t>(random()) & mask;
      Step(i == 0, i == 0 && tile > 0, tile % 4 == 1, x, w, scale);
      if (tile > 1) Compare();  // accumulations begin with tile 1
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace kiln::rtl
