// A transformation of lowered networks for machines with several rows per element (`batch` above
// 1). If all layers work pixel by pixel, the rows become pixels of one image (matrix rows, tokens)
// instead of different images, so that one image alone fills the machine.
#ifndef KILN_TARGETS_VTA_COMPILE_FOLD_ROWS_H_
#define KILN_TARGETS_VTA_COMPILE_FOLD_ROWS_H_

#include "kiln/targets/vta/compile/layers.h"
#include "kiln/targets/vta/config/config.h"

namespace kiln::vta {

// Sets images_at_once, and folds rows if every layer on the machine reads and writes whole maps
// pixel by pixel and an image takes at most a tenth more steps than its share of several images.
// (The last element of a folded map may be only partly filled.)
void FoldRows(Network* network, const Config& config);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_COMPILE_FOLD_ROWS_H_
