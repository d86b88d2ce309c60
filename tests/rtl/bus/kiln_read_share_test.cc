// Tests kiln_read_share: two units issue requests at random, and each gets its own data in order,
// with its own tags.
#include <deque>

#include "Vread_share.h"
#include "rtl/testbench/kiln_axi_memory.h"
#include "tests/rtl/support.h"

namespace kiln::rtl {
namespace {

struct Request {
  uint64_t address;
  uint32_t bytes, tag;
};

TEST(ReadShare, EachUnitGetsItsWords) {
  constexpr uint64_t kBytes = 4096;
  constexpr int kRequests = 2000;
  Random random(4);
  testbench::AxiTiming timing;
  timing.latency = 5;
  timing.StallAll(0.1);
  testbench::AxiMemory memory(kBytes, timing);
  for (uint8_t& byte : memory.bytes()) byte = static_cast<uint8_t>(random());
  testbench::AxiReadPort bus(&memory, 8, 1);
  Simulation<Vread_share> share(1);

  std::deque<Request> asked[2];
  Source<Request> sources[2] = {Source<Request>(Stalls(2, 0.6, Stalls::Kind::kBursts)),
                                Source<Request>(Stalls(3, 0.3, Stalls::Kind::kBursts))};
  for (int i = 0; i < kRequests; ++i) {
    for (const int unit : {0, 1}) {
      const auto bytes = static_cast<uint32_t>(random.Below(17));
      sources[unit].Push({random.Below(kBytes - 16), bytes,
                          static_cast<uint32_t>(random()) & (unit == 0 ? 0xfff : 0x1ff)});
    }
  }
  share->a_request_valid = share->b_request_valid = 0;
  share->a_word_ready = share->b_word_ready = 0;
  share->axi_arready = share->axi_rvalid = 0;
  share.Reset();
  int words[2] = {};
  int both = 0;
  const auto take = [&](int unit, bool valid, const auto& data, uint32_t tag) {
    if (!valid) return;
    ASSERT_FALSE(asked[unit].empty());
    const Request request = asked[unit].front();
    asked[unit].pop_front();
    ASSERT_EQ(tag, request.tag);
    const std::vector<uint8_t> bytes = GetBytes(data, 16);
    for (uint32_t i = 0; i < request.bytes; ++i)
      ASSERT_EQ(bytes[i], memory.bytes()[request.address + i]);
    ++words[unit];
  };
  while (words[0] + words[1] < 2 * kRequests) {
    ASSERT_LT(share.Cycle(), 100000u);
    for (Source<Request>& source : sources) source.Drive();
    share->a_request_valid = sources[0].Valid();
    share->b_request_valid = sources[1].Valid();
    if (sources[0].Valid()) {
      const Request& r = sources[0].Item();
      share->a_request_address = r.address, share->a_request_bytes = static_cast<uint8_t>(r.bytes);
      share->a_request_tag = static_cast<uint16_t>(r.tag);
    }
    if (sources[1].Valid()) {
      const Request& r = sources[1].Item();
      share->b_request_address = r.address, share->b_request_bytes = static_cast<uint8_t>(r.bytes);
      share->b_request_tag = static_cast<uint16_t>(r.tag);
    }
    share->a_word_ready = random.Below(4) != 0;
    share->b_word_ready = random.Below(4) != 0;
    KILN_AXI_DRIVE_READ(*share, axi, bus);
    share.Settle();
    KILN_AXI_SAMPLE_READ(*share, axi, bus);
    ASSERT_FALSE(share->a_word_valid && share->b_word_valid);
    take(0, share->a_word_valid && share->a_word_ready, share->a_word_data, share->a_word_tag);
    take(1, share->b_word_valid && share->b_word_ready, share->b_word_data, share->b_word_tag);
    const bool ready[2] = {static_cast<bool>(share->a_request_ready),
                           static_cast<bool>(share->b_request_ready)};
    if (sources[0].Valid() && sources[1].Valid()) {
      ASSERT_FALSE(ready[1]);
      ++both;
    }
    for (const int unit : {0, 1}) {
      if (!sources[unit].Valid() || !ready[unit]) continue;
      asked[unit].push_back(sources[unit].Item());
      sources[unit].Taken(true);
    }
    share.Step();
  }
  EXPECT_GT(both, 100);
  EXPECT_TRUE(share->idle);
}

}  // namespace
}  // namespace kiln::rtl
