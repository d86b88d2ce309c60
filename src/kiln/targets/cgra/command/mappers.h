// The table of all mappers.
#ifndef KILN_TARGETS_CGRA_COMMAND_MAPPERS_H_
#define KILN_TARGETS_CGRA_COMMAND_MAPPERS_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/cgra/map/mapper.h"

namespace kiln::cgra {

// Returns the names of all mappers, in the order of the table, and their descriptions in one line.
std::vector<std::string> MapperNames();
std::string MapperHelp();

// Whether a mapper uses a trained policy.
bool UsesPolicy(std::string_view mapper);
// Makes a mapper. `policy` is the file of a trained policy, for the mappers that use one; empty:
// the policy that ships with Kiln. Other mappers ignore it. Errors: no mapper has this name; a file
// that cannot be read or is not a policy.
StatusOr<std::unique_ptr<Mapper>> MakeMapper(std::string_view name, const std::string& policy);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_COMMAND_MAPPERS_H_
