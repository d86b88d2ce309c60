// How `kiln cgra train` talks to the program that trains, kiln-cgra-train. Gradients need libtorch,
// which takes long to start, so that only this program links it.
//
// Both ends send frames: a byte that says what it is, eight bytes with the length of what follows,
// lowest first, and as many bytes.
//   to the program:   'o' options (JSON), then 's' the state to go on from, or an empty one
//   from the program: after each iteration 'p', a point of the curve (JSON); with it, where it is
//                     due and after the last iteration, 's' the state; at the end 'd', or 'e' an
//                     error in one line
#ifndef KILN_TARGETS_CGRA_LEARN_PROTOCOL_H_
#define KILN_TARGETS_CGRA_LEARN_PROTOCOL_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "kiln/support/status.h"
#include "kiln/targets/cgra/learn/training.h"

namespace kiln::cgra {

struct Frame {
  char kind = 0;
  std::string bytes;
};

// Returns the nine bytes before a frame's content, and reads them. Error: a length above the
// budget.
inline constexpr size_t kFrameHeader = 9;
std::string FrameHeader(const Frame& frame);
StatusOr<uint64_t> FrameLength(std::string_view header);

// Options and points as JSON, and back. `state_every` is the number of iterations between two
// states; 0: only the last. Errors: a key that is missing or has a value of another type.
std::string PrintTrainRequest(const TrainOptions& options, int state_every);
struct TrainRequest {
  TrainOptions options;
  int state_every = 0;
};
StatusOr<TrainRequest> ParseTrainRequest(std::string_view text);
// Writes the options into the numbers of a state, and compares options with the options of a state
// to go on from. Errors, each naming an option with both values: another value, or none in the
// state; the graphs are compared by a digest; a training at its end. `source` is the file of
// the state, or "".
void RecordOptions(const TrainOptions& options, TrainingState* state);
Status CheckResumed(const TrainOptions& options, const TrainingState& state,
                    const std::string& source);

std::string PrintPoint(const CurvePoint& point);
StatusOr<CurvePoint> ParsePoint(std::string_view text);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_LEARN_PROTOCOL_H_
