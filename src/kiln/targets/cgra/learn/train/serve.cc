// Answers a request for training.

#include "kiln/targets/cgra/learn/train/serve.h"

#include <utility>

#include "kiln/targets/cgra/learn/train/train.h"

namespace kiln::cgra {
namespace {

Status Serve(const ReceiveFrame& receive, const SendFrame& send) {
  Frame options, begin;
  if (!receive(&options) || options.kind != 'o' || !receive(&begin) || begin.kind != 's') {
    return ErrorAt("training", "", "the request is cut short", "options and a state");
  }
  KILN_ASSIGN_OR_RETURN(const TrainRequest request, ParseTrainRequest(options.bytes));
  TrainingState state = BeginTraining(request.options);
  if (!begin.bytes.empty()) {
    KILN_ASSIGN_OR_RETURN(state, ParseTraining(begin.bytes, "training"));
  }
  // Train writes the state after each iteration before it calls this.
  const auto after = [&](const CurvePoint& point) {
    if (!send({'p', PrintPoint(point)})) return false;
    const bool due = request.state_every > 0 && point.iteration % request.state_every == 0;
    return !due || send({'s', SerializeTraining(state)});
  };
  KILN_RETURN_IF_ERROR(Train(request.options, &state, after));
  send({'s', SerializeTraining(state)});
  return OkStatus();
}

}  // namespace

int ServeTraining(const ReceiveFrame& receive, const SendFrame& send) {
  const Status status = Serve(receive, send);
  send(status.ok() ? Frame{'d', ""} : Frame{'e', MessageOf(status)});
  return status.ok() ? 0 : 1;
}

}  // namespace kiln::cgra
