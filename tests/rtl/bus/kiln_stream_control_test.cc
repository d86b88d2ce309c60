// Tests kiln_stream_control, with two streams in and one out, against the register map of
// docs/driver.md: what software writes and reads, when a run starts and ends, and the counters.
#include <array>

#include "Vstream_control.h"
#include "rtl/testbench/kiln_axi_lite.h"
#include "tests/rtl/support.h"

namespace kiln::rtl {
namespace {

constexpr uint32_t kInterrupt = 0x028, kControl = 0x008, kStatus = 0x00c, kError = 0x010,
                   kErrorStream = 0x014, kCycles = 0x018;
constexpr uint64_t kStreams = 3;

class Control {
 public:
  explicit Control(uint64_t seed) : model_(seed) {
    testbench::AxiLiteIdle(*model_);
    model_->busy = model_->faults = model_->valids = model_->readys = 0;
    model_.Reset();
    model_.Step();
  }
  Simulation<Vstream_control>& model() { return model_; }

  bool Write(uint32_t address, uint32_t data) {
    return testbench::AxiLiteWrite(
        *model_, address, data, [&] { model_.Settle(); }, [&] { Step(); });
  }
  // Returns the value, or nullopt for an error response.
  std::optional<uint32_t> Read(uint32_t address) {
    bool error = false;
    const uint32_t value =
        testbench::AxiLiteRead(*model_, address, [&] { model_.Settle(); }, [&] { Step(); }, &error);
    return error ? std::nullopt : std::optional(value);
  }
  // Lets a cycle pass. Readers and writers are busy from the cycle after start on for `left` cycles
  // each.
  void Step() {
    model_.Settle();
    const bool start = model_->start;
    if (start) ++starts;
    model_.Step();
    uint32_t busy = 0;
    for (uint64_t s = 0; s < kStreams; ++s) {
      if (start) left[s] = length[s];
      if (left[s] == 0) continue;
      --left[s];
      busy |= uint32_t{1} << s;
    }
    model_->busy = busy;
    model_.Settle();
  }

  std::array<uint64_t, kStreams> length{}, left{};  // of a run, in cycles
  int starts = 0;

 private:
  Simulation<Vstream_control> model_;
};

TEST(StreamControl, NamesItselfAndItsStreams) {
  Control control(1);
  EXPECT_EQ(control.Read(0x000), 0x4b494c4e);
  EXPECT_EQ(control.Read(0x004), 0x00050000);
  EXPECT_EQ(control.Read(0x020), 2);
  EXPECT_EQ(control.Read(0x024), 1);
  EXPECT_EQ(control.Read(kStatus), 0);
  EXPECT_EQ(control.Read(kInterrupt), 0);
  EXPECT_EQ(control.Read(0x02c), std::nullopt);
  EXPECT_EQ(control.Read(0x10c), std::nullopt);
  EXPECT_EQ(control.Read(0x130), std::nullopt) << "there is no fourth stream";
  EXPECT_EQ(control.Read(0x418), std::nullopt);
  EXPECT_FALSE(control.Write(kStatus, 1));
  EXPECT_FALSE(control.Write(0x10c, 1));
  EXPECT_FALSE(control.Write(0x400, 1));
}

TEST(StreamControl, AddressesAndBeatsOfEveryStream) {
  Control control(2);
  for (uint32_t s = 0; s < kStreams; ++s) {
    EXPECT_TRUE(control.Write(0x100 + 16 * s, 0x12345670 + s));
    EXPECT_TRUE(control.Write(0x104 + 16 * s, 0xab0 + s));
    EXPECT_TRUE(control.Write(0x108 + 16 * s, 0x9000 + s));
  }
  const std::vector<uint8_t> addresses = GetBytes(control.model()->addresses, 15),
                             beats = GetBytes(control.model()->beat_counts, 12);
  for (uint32_t s = 0; s < kStreams; ++s) {
    EXPECT_EQ(control.Read(0x100 + 16 * s), 0x12345670 + s);
    EXPECT_EQ(control.Read(0x104 + 16 * s), 0xb0 + s) << "addresses have 40 bits";
    EXPECT_EQ(control.Read(0x108 + 16 * s), 0x9000 + s);
    EXPECT_EQ(addresses[5 * s], 0x70 + s);
    EXPECT_EQ(addresses[5 * s + 4], 0xb0 + s);
    EXPECT_EQ(beats[4 * s + 1], 0x90);
    EXPECT_EQ(beats[4 * s], s);
  }
}

// A run of 50 cycles: stream 0 offers beats that are taken in every second cycle.
TEST(StreamControl, RunsUntilAllStreamsAreIdle) {
  Control control(3);
  control.length = {20, 50, 30};
  EXPECT_TRUE(control.Write(kControl, 1));
  control.model()->valids = 1;
  for (int cycle = 0; cycle < 100; ++cycle) {
    control.model()->readys = cycle % 2;
    control.Step();
    if (cycle == 5) {
      EXPECT_FALSE(control.Write(kControl, 1)) << "it is running";
      EXPECT_FALSE(control.Write(0x108, 1));
      EXPECT_EQ(control.Read(kStatus), 1);
      EXPECT_EQ(control.model()->irq, 0);
    }
  }
  EXPECT_EQ(control.starts, 1);
  EXPECT_EQ(control.Read(kStatus), 2);
  EXPECT_EQ(control.model()->irq, 1);
  EXPECT_EQ(control.Read(kInterrupt), 1);
  EXPECT_TRUE(control.Write(kInterrupt, 0));
  EXPECT_EQ(control.model()->irq, 1) << "only a 1 acknowledges";
  EXPECT_TRUE(control.Write(kInterrupt, 1));
  EXPECT_EQ(control.model()->irq, 0);
  EXPECT_EQ(control.Read(kInterrupt), 0);
  EXPECT_EQ(control.Read(kStatus), 2) << "the run has ended all the same";
  EXPECT_EQ(control.Read(kCycles), 50);
  EXPECT_EQ(control.Read(kCycles + 4), 0);
  EXPECT_EQ(control.Read(kError), 0);
  const uint32_t moved = *control.Read(0x400), stalled = *control.Read(0x404);
  EXPECT_EQ(moved + stalled, 50) << "of the cycles of the run";
  EXPECT_GT(moved, 15);
  EXPECT_GT(stalled, 15);
  EXPECT_EQ(control.Read(0x408), 0);
  // The next run begins anew.
  control.length = {1, 1, 1};
  control.model()->valids = 0;
  EXPECT_TRUE(control.Write(kControl, 1));
  for (int cycle = 0; cycle < 5; ++cycle) control.Step();
  EXPECT_EQ(control.Read(kCycles), 1);
  EXPECT_EQ(control.Read(0x400), 0);
}

// Stream 2 leaves the machine. It offers a beat after the end of the run, which named too few.
TEST(StreamControl, BeatsThatAreLeftOverAreAnError) {
  Control control(5);
  control.length = {3, 4, 5};
  EXPECT_TRUE(control.Write(kControl, 1));
  for (int cycle = 0; cycle < 10; ++cycle) control.Step();
  EXPECT_EQ(control.Read(kStatus), 2);
  EXPECT_EQ(control.Read(kError), 0);
  control.model()->valids = 0b011;
  for (int cycle = 0; cycle < 3; ++cycle) control.Step();
  EXPECT_EQ(control.Read(kError), 0) << "streams into the machine may offer the next run's beats";
  control.model()->valids = 0b100;
  control.Step();
  control.model()->valids = 0;
  EXPECT_EQ(control.Read(kError), 2);
  EXPECT_EQ(control.Read(kErrorStream), 2);
  EXPECT_TRUE(control.Write(kControl, 1));
  for (int cycle = 0; cycle < 10; ++cycle) control.Step();
  EXPECT_EQ(control.Read(kError), 0) << "the next run begins anew";
}

TEST(StreamControl, AFaultEndsTheRunWithItsStream) {
  Control control(4);
  control.length = {9, 9, 9};
  EXPECT_TRUE(control.Write(kControl, 1));
  control.Step();
  control.model()->faults = 0b110;
  EXPECT_EQ(control.Read(kError), 0) << "the run has not ended";
  for (int cycle = 0; cycle < 20; ++cycle) control.Step();
  EXPECT_EQ(control.Read(kStatus), 2);
  EXPECT_EQ(control.Read(kError), 1);
  EXPECT_EQ(control.Read(kErrorStream), 1);
}

}  // namespace
}  // namespace kiln::rtl
