// In place of torch's: a text that registers operators of its own says TORCH_LIBRARY.
#pragma once
