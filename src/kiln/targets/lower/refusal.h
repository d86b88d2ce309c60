// Refusals: statuses that state why a node cannot run on the accelerator.
#ifndef KILN_TARGETS_LOWER_REFUSAL_H_
#define KILN_TARGETS_LOWER_REFUSAL_H_

#include <string>

#include "kiln/support/status.h"

namespace kiln {

// Returns a refusal, which assigns a node to the host. The report, or without host fallback the
// error, states the reason.
inline Status ToHost(const std::string& reason) { return absl::UnimplementedError(reason); }
// Returns whether a status is a refusal. Every other error is reported to the user.
inline bool IsRefusal(const Status& status) { return status.code() == StatusCode::kUnimplemented; }

}  // namespace kiln

#endif  // KILN_TARGETS_LOWER_REFUSAL_H_
