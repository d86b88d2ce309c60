// The arguments that commands on computation graphs share.
#ifndef KILN_TARGETS_CGRA_COMMAND_SEARCH_ARGUMENTS_H_
#define KILN_TARGETS_CGRA_COMMAND_SEARCH_ARGUMENTS_H_

#include <CLI/App.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/cgra/map/mapper.h"

namespace kiln::cli {

inline constexpr const char* kGraphHelp =
    "The computation graph: a JSON, DOT, ONNX or .kir file, or the name of a graph (kiln cgra "
    "graphs)";
inline constexpr const char* kMachineHelp =
    "The machine: a YAML file or a name (kiln list accelerators) of the family cgra";

// The options of a search.
class SearchArguments {
 public:
  void Declare(CLI::App& app);
  // Declares the option --mapper as well, into `mapper`, which has the default.
  void DeclareWithMapper(CLI::App& app, std::string* mapper);
  // Refuses every given option but --seed, for a command that does not search; `why` names the
  // option that is given instead.
  Status CheckNoneGiven(std::string_view why) const;
  // Refuses a policy that none of the mappers would use.
  Status Check(std::span<const std::string> mappers) const;
  cgra::MapOptions Options() const;
  const std::string& policy() const { return policy_; }

 private:
  cgra::MapOptions options_;
  int interval_ = 0;
  bool no_fuse_ = false;
  std::string policy_;
  std::vector<const CLI::Option*> of_searches_;  // all options but --seed
};

}  // namespace kiln::cli

#endif  // KILN_TARGETS_CGRA_COMMAND_SEARCH_ARGUMENTS_H_
