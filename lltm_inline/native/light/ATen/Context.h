// In place of torch's: no text of an operator needs it.
#pragma once
