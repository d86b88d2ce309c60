// A server without memory: allocations of its threads fail one after the other, and it loses
// nothing by it.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <new>
#include <thread>
#include <vector>

#include "tests/targets/vta/default_config.h"
#include "tests/targets/vta/local_server.h"
#include "tests/targets/vta/soak.h"

namespace {

// Of all threads but those that are spared: allocations until they begin to fail, and how many then
// fail.
std::atomic<int64_t> allocations_left = 0, failures_left = 0;
thread_local bool spared = false;

bool Fails() {
  if (spared || failures_left <= 0) return false;
  if (allocations_left > 0) {
    --allocations_left;
    return false;
  }
  return failures_left-- > 0;
}

}  // namespace

// All that go together, so that no memory is freed by another allocator's (sanitisers have theirs).
// Inlined, the compiler would take them for mismatched pairs.
[[gnu::noinline]] void* operator new(size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
  return Fails() ? nullptr : std::malloc(bytes);
}
[[gnu::noinline]] void* operator new(size_t bytes) {
  void* const memory = operator new(bytes, std::nothrow);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new[](size_t bytes, const std::nothrow_t& tag) noexcept {
  return operator new(bytes, tag);
}
void* operator new[](size_t bytes) { return operator new(bytes); }
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t /*bytes*/) noexcept { operator delete(memory); }
void operator delete(void* memory, const std::nothrow_t& /*tag*/) noexcept {
  operator delete(memory);
}
void operator delete[](void* memory) noexcept { operator delete(memory); }
void operator delete[](void* memory, size_t /*bytes*/) noexcept { operator delete(memory); }
void operator delete[](void* memory, const std::nothrow_t& /*tag*/) noexcept {
  operator delete(memory);
}

namespace kiln::vta {
namespace {

using Bytes = std::vector<uint8_t>;
using Milliseconds = ByteChannel::Duration;

// Returns whether a condition holds at some time in the next ten seconds. It may fail again
// afterwards: the server opens files when it accepts a connection that has waited.
template <typename Condition>
bool Eventually(const Condition& condition) {
  constexpr int kPatience = 10'000;
  for (int i = 0; i < kPatience; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(Milliseconds(1));
  }
  return false;
}

// A stranger comes, and from the n-th allocation on that this takes some fail; it goes, and nothing
// of it is left.
TEST(VtaRemoteMemory, RunningOutOfItEndsNothing) {
  spared = true;
  const auto server = StartLocalServer({.config = kConfig});
  ASSERT_NE(server, nullptr);
  const auto is_served = [&] {
    auto device = MakeRemoteDevice(server->local(), kTestToken, kConfig);
    if (!device.ok()) return false;
    const auto runtime = Runtime::Create(*std::move(device));
    const auto bytes = runtime.ok() ? AddImmediate(**runtime, Bytes(1024, 5), 7) : runtime.status();
    return bytes.ok() && *bytes == Bytes(1024, 12);
  };
  ASSERT_TRUE(is_served());
  ASSERT_TRUE(Eventually([&] { return server->machines() == 0; }));
  constexpr int64_t kFilesOfNextConnection = 4;
  const size_t files = OpenFiles() + kFilesOfNextConnection;
  for (const int64_t failures : {1, 8}) {
    for (int64_t before = 0; before < 40; ++before) {
      {
        allocations_left = before;
        failures_left = failures;
        // A failure where there is none to drop, and one where this is the one.
        const auto first = TcpChannel::Connect(server->local(), Milliseconds(2000));
        const auto second = TcpChannel::Connect(server->local(), Milliseconds(2000));
        ASSERT_TRUE(first.ok() && second.ok());
        constexpr int kPatience = 100;
        for (int i = 0; i < kPatience && failures_left > 0; ++i)
          std::this_thread::sleep_for(Milliseconds(1));
      }
      failures_left = 0;
      ASSERT_TRUE(Eventually([&] { return OpenFiles() <= files; }))
          << failures << " failures after " << before;
    }
    ASSERT_TRUE(is_served());
    ASSERT_TRUE(Eventually([&] { return server->machines() == 0 && OpenFiles() <= files; }));
  }
}

}  // namespace
}  // namespace kiln::vta
