// Hostile and honest clients of a VTA server on this machine's loopback interface.
#ifndef TESTS_TARGETS_VTA_SOAK_H_
#define TESTS_TARGETS_VTA_SOAK_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "kiln/net/tcp.h"
#include "kiln/support/random.h"
#include "kiln/targets/vta/runtime/runtime.h"

namespace kiln::vta {

// Runs a program that computes from[i] + `immediate` of 64 elements of 16 and stores the sums as
// output codes.
StatusOr<std::vector<uint8_t>> AddImmediate(Runtime& runtime, const std::vector<uint8_t>& from,
                                            int32_t immediate);

// Opens connections to 127.0.0.1 that no honest client would open, one after the other, and keeps
// many of them open.
class HostileClients {
 public:
  enum class Kind : uint8_t {
    kFlood,       // is reset as soon as it is made
    kHalfOpen,    // sends nothing
    kHalfHello,   // sends the beginning of a right hello
    kSlow,        // sends a right hello but for the token's last letter, a byte now and then
    kGarbage,     // sends random bytes
    kOversize,    // announces more bytes than any request has
    kWrongToken,  // a whole hello with another token
    kHalfClosed,  // sends half a header and closes its sending side
  };
  static constexpr size_t kKinds = 8;
  static constexpr std::array<const char*, kKinds> kNames = {
      "flood",   "half-open", "half hello",  "slow",
      "garbage", "oversize",  "wrong token", "half-closed"};

  // `hello` is a right one: the bytes of its message.
  HostileClients(uint16_t port, std::vector<uint8_t> hello, uint64_t seed);
  ~HostileClients();
  HostileClients(const HostileClients&) = delete;
  HostileClients& operator=(const HostileClients&) = delete;

  // Opens the next connection, of that kind or a random one, and sends a byte on each slow one.
  void Next(std::optional<Kind> wanted = {});

  const std::array<int64_t, kKinds>& made() const { return made_; }
  int64_t refused() const { return refused_; }  // attempts to connect that failed

 private:
  struct Open {
    int socket;
    size_t sent = 0;  // of a slow one: bytes of its hello
    bool slow = false;
  };
  void Send(int socket, const std::vector<uint8_t>& bytes);
  void Close(const Open& open);
  void TrickleHellos();

  const uint16_t port_;
  const std::vector<uint8_t> hello_;
  std::vector<uint8_t> wrong_hello_;
  Random random_;
  std::deque<Open> open_;
  std::array<int64_t, kKinds> made_ = {};
  int64_t refused_ = 0;
};

// What an honest client saw.
struct HonestResults {
  int64_t programs = 0, wrong = 0;         // of the session that lasts
  std::string lost;                        // why that session ended early; empty: it did not
  int64_t sessions = 0, wrong_others = 0;  // further sessions, of one program each
  int64_t attempts = 0;                    // that they took
};

struct SoakResults {
  HonestResults honest;
  std::array<int64_t, HostileClients::kKinds> hostile = {};
  int64_t refused = 0;
  double seconds = 0;
};

struct SoakPlan {
  int64_t connections = 1;                                  // hostile ones
  std::optional<HostileClients::Kind> only = std::nullopt;  // their kind; none: random ones
  std::chrono::milliseconds most{60'000};                   // that it makes connections for
  int64_t programs_per_session = 20;  // after so many the honest client opens another session
  uint64_t seed = 1;
};

// Makes hostile connections to the server at 127.0.0.1:`port` beside one honest client, which runs
// programs in one session all the time and opens further sessions. Stops when `plan.most` is over,
// and once the hostile clients have stopped the honest one opens its last session for no longer
// than that, either.
SoakResults Soak(uint16_t port, const std::string& token, const Config& config,
                 const SoakPlan& plan);

}  // namespace kiln::vta

#endif  // TESTS_TARGETS_VTA_SOAK_H_
