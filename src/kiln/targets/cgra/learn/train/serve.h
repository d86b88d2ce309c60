// The program that trains, without its input and output.
#ifndef KILN_TARGETS_CGRA_LEARN_TRAIN_SERVE_H_
#define KILN_TARGETS_CGRA_LEARN_TRAIN_SERVE_H_

#include <functional>

#include "kiln/targets/cgra/learn/protocol.h"

namespace kiln::cgra {

// Reads a request by `receive`, trains, and sends what the protocol says.
// `receive` and `send` return false at the end of their streams. Returns the exit code.
using ReceiveFrame = std::function<bool(Frame* frame)>;
using SendFrame = std::function<bool(const Frame& frame)>;
int ServeTraining(const ReceiveFrame& receive, const SendFrame& send);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_LEARN_TRAIN_SERVE_H_
