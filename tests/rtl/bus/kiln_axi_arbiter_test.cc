// Tests kiln_axi_arbiter with three masters that read and write at random: all data, the final
// memory, and fairness.
#include <algorithm>
#include <array>

#include "Varbiter.h"
#include "rtl/testbench/kiln_axi_memory.h"
#include "tests/rtl/support.h"

namespace kiln::rtl {
namespace {

using testbench::AxiMemory;
using testbench::AxiReadPort;
using testbench::AxiTiming;
using testbench::AxiWritePort;

constexpr int kMasters = 3;
constexpr uint64_t kReadBytes = 1 << 14;   // the lower part of the memory is only read,
constexpr uint64_t kWriteBytes = 1 << 14;  // behind it each master has a part of its own to write

struct Request {
  uint64_t address = 0;
  std::vector<uint8_t> data;  // to write; of a read only its size counts
  uint32_t tag = 0;
};

// A vector of `slice` bytes a master.
class Slices {
 public:
  explicit Slices(size_t slice) : slice_(slice), bytes_(kMasters * slice) {}
  void Set(int master, const void* value, size_t bytes) {
    std::memcpy(bytes_.data() + static_cast<size_t>(master) * slice_, value,
                std::min(bytes, slice_));
  }
  const std::vector<uint8_t>& bytes() const { return bytes_; }

 private:
  size_t slice_;
  std::vector<uint8_t> bytes_;
};

Request RandomRequest(Random& random, uint64_t begin, uint64_t size, uint32_t tag) {
  Request request;
  request.data.resize(1 + random.Below(32));
  request.address = begin + random.Below(size - request.data.size() + 1);
  request.tag = tag;
  for (uint8_t& byte : request.data) {
    byte = static_cast<uint8_t>(random());
  }
  return request;
}

struct Result {
  uint64_t cycles = 0;
  std::array<uint64_t, kMasters> words_in_first_half = {};
};

// `requests` reads and as many writes from each master.
Result Exercise(const AxiTiming& timing, double master_stall, int requests, uint64_t seed) {
  AxiMemory memory(kReadBytes + kMasters * kWriteBytes, timing);
  Random random(seed);
  for (uint8_t& byte : memory.bytes()) {
    byte = static_cast<uint8_t>(random());
  }
  std::vector<uint8_t> model = memory.bytes();
  AxiReadPort read_bus(&memory, 16, seed);
  AxiWritePort write_bus(&memory, 16, seed);
  Simulation<Varbiter> bench(seed);
  std::vector<Source<Request>> reads, writes;
  std::array<std::deque<Request>, kMasters> expected;
  uint64_t words = 0;
  for (int m = 0; m < kMasters; ++m) {
    reads.emplace_back(Stalls(seed * 10 + static_cast<uint64_t>(m), master_stall));
    writes.emplace_back(Stalls(seed * 10 + 5 + static_cast<uint64_t>(m), master_stall));
    for (int i = 0; i < requests; ++i) {
      reads.back().Push(
          RandomRequest(random, 0, kReadBytes, static_cast<uint32_t>(random.Below(65536))));
      writes.back().Push(RandomRequest(random, kReadBytes + static_cast<uint64_t>(m) * kWriteBytes,
                                       kWriteBytes, 0));
    }
  }
  Stalls word_stalls(seed + 99, master_stall);
  bench->read_valid = bench->write_valid = 0;
  bench->axi_arready = bench->axi_rvalid = bench->axi_awready = bench->axi_wready =
      bench->axi_bvalid = 0;
  bench.Reset();

  Result result;
  const uint64_t all_words = static_cast<uint64_t>(requests) * kMasters;
  const auto done = [&] {
    return words == all_words &&
           std::all_of(writes.begin(), writes.end(), [](const auto& w) { return w.Empty(); }) &&
           bench->write_idle == 7;
  };
  while (!done()) {
    if (bench.Cycle() > 200000) {
      ADD_FAILURE() << "stuck";
      break;
    }
    Slices read_address(5), read_bytes(1), read_tag(2), write_address(5), write_bytes(1),
        write_data(32);
    unsigned read_valid = 0, write_valid = 0, word_ready = 0;
    for (int m = 0; m < kMasters; ++m) {
      auto& read = reads[static_cast<size_t>(m)];
      auto& write = writes[static_cast<size_t>(m)];
      read.Drive();
      write.Drive();
      word_ready |= static_cast<unsigned>(!word_stalls.Next()) << m;
      if (read.Valid()) {
        const auto bytes = static_cast<uint8_t>(read.Item().data.size());
        read_valid |= 1u << m;
        read_address.Set(m, &read.Item().address, 5);
        read_bytes.Set(m, &bytes, 1);
        read_tag.Set(m, &read.Item().tag, 2);
      }
      if (write.Valid()) {
        const auto bytes = static_cast<uint8_t>(write.Item().data.size());
        write_valid |= 1u << m;
        write_address.Set(m, &write.Item().address, 5);
        write_bytes.Set(m, &bytes, 1);
        write_data.Set(m, write.Item().data.data(), write.Item().data.size());
      }
    }
    bench->read_valid = read_valid;
    bench->write_valid = write_valid;
    bench->word_ready = word_ready;
    SetBytes(bench->read_address, read_address.bytes());
    SetBytes(bench->read_bytes, read_bytes.bytes());
    SetBytes(bench->read_tag, read_tag.bytes());
    SetBytes(bench->write_address, write_address.bytes());
    SetBytes(bench->write_bytes, write_bytes.bytes());
    SetBytes(bench->write_data, write_data.bytes());
    KILN_AXI_DRIVE_READ_ID(*bench, axi, read_bus);
    KILN_AXI_DRIVE_WRITE_ID(*bench, axi, write_bus);
    bench.Settle();

    const std::vector<uint8_t> word_data = GetBytes(bench->word_data, kMasters * 32);
    const std::vector<uint8_t> word_tag = GetBytes(bench->word_tag, kMasters * 2);
    for (int m = 0; m < kMasters; ++m) {
      const auto index = static_cast<size_t>(m);
      if (((bench->word_valid & word_ready) >> m & 1) != 0) {
        if (expected[index].empty()) {
          ADD_FAILURE() << "a word that master " << m << " has not asked for";
          return result;
        }
        const Request& head = expected[index].front();
        EXPECT_EQ(word_tag[2 * index] | word_tag[2 * index + 1] << 8, static_cast<int>(head.tag));
        EXPECT_TRUE(std::equal(head.data.begin(), head.data.end(), word_data.begin() + 32 * m));
        expected[index].pop_front();
        ++words;
        result.words_in_first_half[index] += words <= all_words / 2;
      }
      if (reads[index].Valid()) {
        Request request = reads[index].Item();
        if (reads[index].Taken((bench->read_ready >> m & 1) != 0)) {
          const auto begin = model.begin() + static_cast<int64_t>(request.address);
          std::copy(begin, begin + static_cast<int64_t>(request.data.size()), request.data.begin());
          expected[index].push_back(std::move(request));
        }
      }
      if (writes[index].Valid()) {
        const Request request = writes[index].Item();
        if (writes[index].Taken((bench->write_ready >> m & 1) != 0)) {
          std::copy(request.data.begin(), request.data.end(),
                    model.begin() + static_cast<int64_t>(request.address));
        }
      }
    }
    KILN_AXI_SAMPLE_READ_ID(*bench, axi, read_bus);
    KILN_AXI_SAMPLE_WRITE_ID(*bench, axi, write_bus);
    bench.Step();
    if (::testing::Test::HasFailure()) {
      return result;
    }
  }
  EXPECT_EQ(memory.bytes(), model);
  EXPECT_EQ(bench->fault, 0);
  result.cycles = bench.Cycle();
  return result;
}

TEST(AxiArbiter, EveryMasterGetsItsOwn) {
  AxiTiming dram;
  dram.latency = 30;
  dram.bytes_per_cycle = 9;
  dram.row_miss = 12;
  for (const double stall : {0.0, 0.3, 0.7}) {
    Exercise(AxiTiming().StallAll(stall), 0, 400, 1);
    Exercise(AxiTiming().StallAll(stall), stall, 400, 2);
    Exercise(dram.StallAll(stall), stall, 400, 3);
  }
}

// With all of them asking all the time the bus is never idle, and nobody falls behind by more than
// the bursts under way.
TEST(AxiArbiter, TurnsAreFairAndNoneIsLost) {
  const Result result = Exercise(AxiTiming(), 0, 1000, 4);
  for (const uint64_t words : result.words_in_first_half) {
    EXPECT_NEAR(static_cast<double>(words), 500, 40);
  }
  // A read of 1 to 32 bytes anywhere takes 1 + (bytes - 1) / 16 beats on average: 1.96875.
  EXPECT_NEAR(static_cast<double>(result.cycles), 3000 * 1.96875, 120);
}

}  // namespace
}  // namespace kiln::rtl
