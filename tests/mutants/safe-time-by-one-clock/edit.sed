s/ || purpose == FOR_SAFE_TIME ||/ ||/
