def twice(x):
    return 2 * x


def thrice(x):
    return 3 * x
