// kiln_axi_stream_checker reports every violation, on a quiet stream and in random traffic, and
// nothing on a stream that keeps the rules.
#include <functional>
#include <vector>

#include "Vstream_checker.h"
#include "Vstream_checker_packed.h"
#include "tests/rtl/support.h"

namespace kiln::rtl {
namespace {

// The numbers of kiln_axi_pkg.sv.
enum Rule { kValid = 0, kData = 1, kKeep = 2, kLast = 3, kReset = 4, kPacked = 5 };

// A stream on which each call is one cycle.
template <typename Checker>
class Stream {
 public:
  explicit Stream(uint64_t seed = 1) : checker_(seed) {
    Quiet();
    checker_.Reset();
    Step();
  }
  void Quiet() {
    checker_->axi_tvalid = 0;
    checker_->axi_tready = 1;
  }
  void Step() {
    checker_.Settle();
    checker_.Step();
  }
  // One cycle with a beat.
  void Offer(bool ready, uint32_t data = 0x123456, uint8_t keep = 7, bool last = false) {
    Set(true, ready, data, keep, last);
    Step();
  }
  void Set(bool valid, bool ready, uint32_t data, uint8_t keep, bool last) {
    checker_->axi_tvalid = valid;
    checker_->axi_tready = ready;
    checker_->axi_tdata = data;
    checker_->axi_tkeep = keep;
    checker_->axi_tlast = last;
  }
  void Reset() { checker_.Reset(); }
  void TakeError() { checker_.TakeError(); }
  Checker& pins() { return *checker_; }
  // The rules violated so far; each was reported as an error, too.
  unsigned Violations() {
    EXPECT_EQ(checker_.TakeError(), checker_->violations != 0);
    return checker_->violations;
  }

 private:
  Simulation<Checker> checker_;
};

using Plain = Stream<Vstream_checker>;
using Packed = Stream<Vstream_checker_packed>;

TEST(AxiStreamChecker, AcceptsWhatTheProtocolAllows) {
  Plain stream;
  stream.Offer(true);
  for (const bool ready : {false, false, true}) stream.Offer(ready, 0xabcdef, 2, true);
  stream.Offer(true, 0, 0, false);  // a beat of null bytes
  stream.Quiet();
  stream.Step();
  // Payload and TREADY are free while nothing is offered.
  stream.Set(false, false, 0x111111, 5, true);
  stream.Step();
  stream.Set(false, true, 0x222222, 2, false);
  stream.Step();
  stream.Offer(true);
  EXPECT_EQ(stream.Violations(), 0u);
}

// An offer that changes or disappears, in a cycle that accepts it and in one that does not.
TEST(AxiStreamChecker, ReportsAnOfferThatChanges) {
  struct Case {
    Rule rule;
    std::function<void(Vstream_checker&)> change;
  };
  const std::vector<Case> cases = {
      {kValid, [](auto& c) { c.axi_tvalid = 0; }},
      {kData, [](auto& c) { c.axi_tdata ^= 0x800000; }},
      {kKeep, [](auto& c) { c.axi_tkeep ^= 4; }},
      {kLast, [](auto& c) { c.axi_tlast ^= 1; }},
  };
  for (const Case& c : cases) {
    for (const bool ready : {false, true}) {
      Plain stream;
      stream.Offer(false);
      stream.Offer(false);
      EXPECT_EQ(stream.Violations(), 0u) << c.rule;
      c.change(stream.pins());
      stream.pins().axi_tready = ready;
      stream.Step();
      EXPECT_EQ(stream.Violations(), 1u << c.rule) << "accepted: " << ready;
      // The bit stays set until a reset.
      stream.Offer(true);
      EXPECT_EQ(stream.pins().violations & (1u << c.rule), 1u << c.rule);
      stream.Quiet();
      stream.Reset();
      stream.TakeError();
      EXPECT_EQ(stream.Violations(), 0u);
    }
  }
}

TEST(AxiStreamChecker, ReportsAValidDuringReset) {
  Plain stream;
  stream.Set(true, true, 0, 7, false);
  stream.Reset();
  EXPECT_EQ(stream.Violations(), 1u << kReset);
}

TEST(AxiStreamChecker, ReportsAValidInTheCycleAfterAReset) {
  Plain stream;
  stream.Quiet();
  stream.Reset();
  stream.Offer(true);
  EXPECT_EQ(stream.Violations(), 1u << kReset);
}

// An offer that was held when the reset came may disappear.
TEST(AxiStreamChecker, AcceptsABeatInTheSecondCycleAfterAReset) {
  Plain stream;
  stream.Offer(false);
  stream.Quiet();
  stream.Reset();
  stream.Step();
  stream.Offer(true);
  EXPECT_EQ(stream.Violations(), 0u);
}

TEST(AxiStreamChecker, PackedStreamsHaveNoNullByteBeforeTheEnd) {
  for (unsigned keep = 0; keep < 8; ++keep) {
    for (const bool last : {false, true}) {
      Packed stream;
      stream.Offer(true, 0, static_cast<uint8_t>(keep), last);
      const bool correct = last ? keep == 1 || keep == 3 || keep == 7 : keep == 7;
      EXPECT_EQ(stream.Violations(), correct ? 0u : 1u << kPacked) << keep << ", last " << last;
    }
  }
}

// Random traffic that keeps the rules, and the same with one wrong cycle, which is reported in that
// cycle.
TEST(AxiStreamChecker, ReportsAViolationInRandomTraffic) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    for (const int rule : {-1, +kValid, +kData, +kKeep, +kLast}) {
      Plain stream(seed);
      Random random(seed);
      bool held = false, broken = false;
      for (uint64_t i = 0; i < 1000 && !broken; ++i) {
        auto& pins = stream.pins();
        if (!held) {
          stream.Set(random.Below(3) != 0, false, static_cast<uint32_t>(random()) & 0xffffff,
                     static_cast<uint8_t>(random.Below(8)), random.Below(2) != 0);
        }
        pins.axi_tready = random.Below(2) != 0;
        broken = rule >= 0 && held && i > 20 * seed;
        if (broken) {
          if (rule == kValid) pins.axi_tvalid = 0;
          if (rule == kData) pins.axi_tdata ^= 1u << random.Below(24);
          if (rule == kKeep) pins.axi_tkeep ^= 1u << random.Below(3);
          if (rule == kLast) pins.axi_tlast ^= 1;
        }
        held = pins.axi_tvalid && !pins.axi_tready;
        stream.Step();
        ASSERT_EQ(stream.Violations(), broken ? 1u << rule : 0u)
            << "seed " << seed << ", cycle " << i << ", rule " << rule;
      }
      EXPECT_EQ(broken, rule >= 0);
    }
  }
}

}  // namespace
}  // namespace kiln::rtl
