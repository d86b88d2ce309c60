// Compares trees of adders with plain sums, at one and at two levels a register.
#include <array>
#include <deque>
#include <vector>

#include "Varith_sum_tree.h"
#include "tests/rtl/support.h"

namespace kiln::rtl {
namespace {

constexpr std::array<int, 6> kTerms = {1, 2, 3, 5, 9, 17};
constexpr std::array<int, 6> kLevels = {0, 1, 2, 3, 4, 5};  // ceil(log2(terms))
using Sums = std::array<int64_t, 6>;

// Returns the signed number in the low `bits` bits.
int64_t Signed(uint64_t field, int bits) {
  const int64_t half = int64_t{1} << (bits - 1), whole = 2 * half;
  const int64_t low = static_cast<int64_t>(field) & (whole - 1);
  return low < half ? low : low - whole;
}

TEST(SumTree, AddsTheTermsOfItsCycle) {
  Simulation<Varith_sum_tree> sim(3);
  Random random(3);
  std::deque<Sums> past;  // sums of this cycle's terms, and of the cycles before
  for (int cycle = 0; cycle < 4000; ++cycle) {
    std::vector<uint8_t> bytes(11);
    Sums sums{};
    const uint64_t kind = random.Below(4);
    for (int i = 0; i < 17; ++i) {
      const int64_t term = kind == 0 ? -16 : kind == 1 ? 15 : random.Between(-16, 15);
      for (int bit = 5 * i; bit < 5 * i + 5; ++bit) {
        const auto value = static_cast<unsigned>((term >> (bit - 5 * i)) & 1);
        bytes[static_cast<size_t>(bit / 8)] |= static_cast<uint8_t>(value << (bit % 8));
      }
      for (size_t t = 0; t < 6; ++t) sums[t] += i < kTerms[t] ? term : 0;
    }
    SetBytes(sim->terms, bytes);
    past.push_front(sums);
    if (past.size() > 6) past.pop_back();
    sim.Settle();
    const Sums every = {Signed(sim->sum_1, 5), Signed(sim->sum_2, 6), Signed(sim->sum_3, 7),
                        Signed(sim->sum_5, 8), Signed(sim->sum_9, 9), Signed(sim->sum_17, 10)};
    const Sums second = {Signed(sim->pair_1, 5), Signed(sim->pair_2, 6), Signed(sim->pair_3, 7),
                         Signed(sim->pair_5, 8), Signed(sim->pair_9, 9), Signed(sim->pair_17, 10)};
    for (size_t t = 0; t < 6; ++t) {
      const auto ago = static_cast<size_t>(kLevels[t]), half = (ago + 1) / 2;
      if (ago < past.size()) {
        ASSERT_EQ(every[t], past[ago][t]) << kTerms[t] << " terms";
      }
      if (half < past.size()) {
        ASSERT_EQ(second[t], past[half][t]) << kTerms[t] << " terms";
      }
    }
    sim.Step();
  }
}

}  // namespace
}  // namespace kiln::rtl
