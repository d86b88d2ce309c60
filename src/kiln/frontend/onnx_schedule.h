// Sorts the nodes of an ONNX graph, which may be stored in any order, so that operands come before
// users.
#ifndef KILN_FRONTEND_ONNX_SCHEDULE_H_
#define KILN_FRONTEND_ONNX_SCHEDULE_H_

#include <functional>
#include <string>
#include <vector>

#include "kiln/support/status.h"
#include "onnx/onnx_pb.h"

namespace kiln {

using NodeProtos = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

// Returns the node's name, or "<operator>_<index>" if it has none.
std::string NameOfNode(const onnx::NodeProto& node, int index);
// Returns "node 'conv_12' (Conv)", for messages.
std::string PlaceOfNode(const onnx::NodeProto& node, int index);

// Returns the indices of the nodes with operands before users, otherwise in file order.
//   known    returns true if a value exists before the first node (inputs, initialisers)
//   errors   a value defined twice, an operand that nothing defines, a cycle
StatusOr<std::vector<int>> ScheduleNodes(const NodeProtos& nodes,
                                         const std::function<bool(const std::string&)>& known,
                                         const std::string& source);

}  // namespace kiln

#endif  // KILN_FRONTEND_ONNX_SCHEDULE_H_
